"""Inference: intervals and tests that count the noise of privacy as well as the chance of sampling."""
