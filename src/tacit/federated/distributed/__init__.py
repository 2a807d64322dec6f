"""Noise that no single party knows: every client adds a share of it, and only the sum of those who stay is opened."""
