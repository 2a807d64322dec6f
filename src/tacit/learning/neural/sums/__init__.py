"""The private sum of one step: clipped, added up on a grid, with exact noise."""
