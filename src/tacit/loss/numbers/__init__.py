"""Arithmetic with proven error: outward rounding, and searches that return only what was seen to pass."""
