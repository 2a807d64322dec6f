"""Questions to a model: SQL that costs nothing, and what is promised about its answers."""
