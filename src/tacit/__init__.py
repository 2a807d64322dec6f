"""A differentially private database and toolbox."""
