"""Clusters: a tree of noisy histograms, and Lloyd's rounds with noisy sums."""
