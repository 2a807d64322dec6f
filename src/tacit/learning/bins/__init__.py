"""Columns cut into bins at public places, and the models that are made from noisy histograms of them."""
