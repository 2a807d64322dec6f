"""A federation that really runs: what its coordinator and its clients do, however their messages travel."""
