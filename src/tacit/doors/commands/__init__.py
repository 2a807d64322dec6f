"""The commands of `tacit`, a file for each family, and what all of them share: the terminal, formats, prices."""
