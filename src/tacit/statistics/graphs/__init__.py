"""Studies of graphs whose nodes are public and whose edges are not (and one study that protects a node).

triangles(edges, nodes=1000, epsilon=1)                       # a list of pairs, an array, a networkx graph
triangles(clinic, ["calls.caller", "calls.callee"], epsilon=1)   # rows of a curator, each an edge
"""

from tacit.statistics.graphs.cuts import minimum_cut
from tacit.statistics.graphs.degrees import degree_histogram
from tacit.statistics.graphs.edge_count import edge_count
from tacit.statistics.graphs.k_stars import k_stars
from tacit.statistics.graphs.spanning_tree import spanning_tree_cost
from tacit.statistics.graphs.triangles import triangles

__all__ = ["degree_histogram", "edge_count", "k_stars", "minimum_cut", "spanning_tree_cost", "triangles"]
