"""Studies, models and synthetic data by name, for doors whose visitors cannot call Python: HTTP, the console, AI tools.

    parameters  what a study takes, read from its own signature, and how each value is read
    registry    the table: every study that can be named, with what it takes
    running     a named study run at a curator, or rehearsed for its price; and its result as JSON

A study decides for itself what it does and refuses: it is called with the given options, as from Python.
"""
