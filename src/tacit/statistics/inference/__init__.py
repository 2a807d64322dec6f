"""Inference: intervals and tests that count the noise of privacy beside the chance of sampling."""
