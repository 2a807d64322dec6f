"""Without the extra `[server]` there is nothing to test here."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("fastapi") else ["test_*.py"]
