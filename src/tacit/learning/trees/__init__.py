"""Trees and forests, grown by private choices."""
