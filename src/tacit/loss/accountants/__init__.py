"""What several releases cost together: each accountant is a theorem about composition."""
