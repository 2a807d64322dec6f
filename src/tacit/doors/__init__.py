"""Ways in. A door translates between a person or program and the curator; it decides nothing about privacy."""
