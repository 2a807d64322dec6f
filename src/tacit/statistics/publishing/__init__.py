"""Publishing: a set of statistics for one charge, as files for a web page."""
