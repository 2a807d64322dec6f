"""Poplar1: frequent values among clients, found bit by bit by two servers that see none of them."""
