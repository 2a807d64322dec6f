"""Trees of scikit-learn whose walks end: every child comes after its parent.

A prediction walks from the first node to a leaf. A tree that was put together by hand can send rows round in a circle,
or to a node that is not there: the walk then has no end for just those rows that satisfy a condition, and the time
would show whether there is such a row. scikit-learn numbers nodes in the order in which it makes them, so that children
have greater numbers than their parents; then a walk is at most as long as the tree has nodes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_TREES: Final = {
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
}


def walks_end(thing: Any) -> bool:
    """Whether every walk ends at a leaf; true of anything that is not a tree of scikit-learn."""
    if (type(thing).__module__, type(thing).__name__) not in _TREES:
        return True
    if hasattr(thing, "children_left"):
        left, right = (np.asarray(each, dtype=np.int64) for each in (thing.children_left, thing.children_right))
        leaf = left == -1
        used, columns = np.asarray(thing.feature)[~leaf], int(thing.n_features)
        in_range = bool(np.all((used >= 0) & (used < columns)))
    else:
        left, right = (np.asarray(thing.nodes[name], dtype=np.int64) for name in ("left", "right"))
        leaf = np.asarray(thing.nodes["is_leaf"], dtype=bool)
        in_range = True  # it does not know how many columns it has
    inner, many = np.arange(len(left))[~leaf], len(left)
    return in_range and all(bool(np.all((each[~leaf] > inner) & (each[~leaf] < many))) for each in (left, right))
