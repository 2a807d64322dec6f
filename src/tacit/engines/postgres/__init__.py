"""PostgreSQL: tables of a server, a working copy in a schema, or none where the question bounds the rows."""
