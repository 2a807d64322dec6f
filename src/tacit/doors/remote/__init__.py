"""A curator behind a server, piece by piece: the line to it, rows and studies, publications, watches."""
