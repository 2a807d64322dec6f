"""Spark: tables and files of a cluster, and a working copy in Parquet."""
