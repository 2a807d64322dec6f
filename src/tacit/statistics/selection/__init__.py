"""Selection: the best of public candidates."""
