"""Secure aggregation: one server, many clients, and nothing but the sum of those who stay."""
