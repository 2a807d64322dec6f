"""Tools for AI analysts, over the Model Context Protocol: `tacit mcp clinic.toml`.

    tools   what an agent can do, with a limit on what one conversation may spend; knows nothing of the protocol
    server  the same as tools of the official SDK
    serving the same over HTTP, with the tokens of `tacit serve`

An agent that is told to find out about one person cannot: it asks through the same curator as everyone.
"""
