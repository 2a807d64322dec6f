"""Each person's own gradient: how it is held, which layers are understood, and what happens with the others."""
