"""Graphical models of tables: junction trees, message passing, fitting to noisy tables, and drawing rows.

Nothing here sees data: everything is made of released numbers, so all of it is free.
"""
