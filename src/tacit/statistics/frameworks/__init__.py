"""Frameworks for anyone's function, which runs isolated."""
