"""Columns cut into bins at public places, and the models that are made of noisy histograms of them."""
