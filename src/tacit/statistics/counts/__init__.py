"""Counts: histograms, densities, contingency tables one by one and in sets, and a monitor of thresholds."""
