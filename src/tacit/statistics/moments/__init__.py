"""Moments: means, variances, covariances and what follows from them."""
