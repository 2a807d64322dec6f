"""Arithmetic with proven error: outward rounding, and searches that return only values that were seen to pass."""
