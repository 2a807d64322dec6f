"""The server: a curator for people and programs that do not have the files. Nothing here decides about privacy.

    tokens    who may come in: secrets shown once, kept as scrypt hashes, with an end
    roles     who may do what: one table of routes and roles
    wire      answers, budgets, entries and public facts as JSON, and back
    problems  refusals as problem+json, with the house's own sentences
    handlers  what each route does, for one seat: a dataset, a name, a role
    app       the routes of the table, guarded; `serving` runs them

What needs FastAPI is imported by `app` and `serving` alone: `tacit.connect` uses `wire` and `problems` without it.
"""
