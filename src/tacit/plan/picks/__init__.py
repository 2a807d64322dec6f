"""Values of a column chosen by their rank: the queries that they need, and the words that describe them."""
