"""What a federation computes: in how many rounds, what a client adds in each, and what the opened sums give."""
