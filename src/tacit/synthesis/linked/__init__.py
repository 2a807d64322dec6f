"""Two tables of one kind of unit: parents, one row each, and their children, several rows each."""
