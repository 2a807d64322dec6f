"""Prio3: reports that are shared between servers, with a proof that they are well formed."""
