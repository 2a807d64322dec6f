"""Tests of the curator and of what it gives out."""
