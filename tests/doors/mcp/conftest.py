"""Without the extra `[mcp]` there is nothing to test here."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("mcp") else ["test_*.py"]
