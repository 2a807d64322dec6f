"""What a federation computes: in how many rounds, what a client adds in each, and what is made of the opened sums."""
