"""DuckDB: files and frames in a working copy of their own, read by a process of its own."""
