"""A run of steps: what it costs, in which order, how it survives a crash, and what is made of its weights."""
