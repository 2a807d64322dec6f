"""Combinatorial choices: sets, places and vertices, drawn one by one by exponential weights."""
