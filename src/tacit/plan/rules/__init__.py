"""The rules of a plan, in the order of `make.RULES`: file = rule = fixture (tests/fixtures/rules)."""
