"""What is computed from noisy numbers and released keys: it costs nothing, and nothing in it fails."""
