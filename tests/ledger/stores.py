"""For tests about one kind of store."""

import pytest

in_a_file = pytest.mark.parametrize("store", ["sqlite"], indirect=True)
in_postgres = pytest.mark.parametrize("store", ["postgres"], indirect=True)
