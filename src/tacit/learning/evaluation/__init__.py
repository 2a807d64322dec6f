"""How good a model is on private rows: predictions row by row, released sums, scores with intervals."""
