"""One noisy matrix of sums and products of columns, and the models that follow from it free of charge."""
