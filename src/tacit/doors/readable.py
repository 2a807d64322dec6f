"""A question for people to read: the ledger's canonical text, written like SQL again.

Promise: this is for reading only, never to be run. The ledger keeps the canonical text, and only that counts; an
unknown kind of node is shown by its name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

Node = Mapping[str, Any]
_AGGREGATES: Final = {"count_rows": "count(*)", "count_units": "count(distinct unit)"}


def in_words(canonical: str) -> str:
    """The question in one line."""
    content = json.loads(canonical)
    if isinstance(content, dict) and content.get("is") == "Questions":
        return "; ".join(in_words(json.dumps(each)) for each in content["questions"])
    if isinstance(content, dict) and content.get("is") == "Study":
        return _study(content)
    if not isinstance(content, dict) or content.get("is") != "Question":
        return canonical
    return _select(content, content["keys"], content["outputs"])


def _study(content: Node) -> str:
    """A study by its name and its data; a publication by its contents."""
    if content.get("study") == "publish":
        questions = [in_words(text) for _, text in content.get("questions", [])]
        parts = [*questions, *(_study(each) for each in content.get("studies", []))]
        return f"publish: {'; '.join(parts)}"
    if content.get("study") == "watch":
        every = str(content.get("every", "")).removesuffix(", 0:00:00")
        return f"watch every {every}: {in_words(str(content.get('question', '{}')))}"
    rows, columns = content.get("rows"), content.get("columns")
    named = ", ".join(map(str, columns)) if isinstance(columns, list) else ""
    of = in_words(rows) if isinstance(rows, str) and rows.startswith("{") else str(rows or "")
    of = of.removeprefix("select count(*) from ")  # the form in which the rows of a study are recorded
    return f"{content.get('study', 'study')}({named}){f' of {of}' if of else ''}"


def _select(content: Node, keys: list[Any], outputs: list[Any]) -> str:
    def text(node: Any) -> str:
        if isinstance(node, dict) and node.get("is") == "KeyValue":
            return text(keys[node["place"]])
        return _text(node, text)

    parts = ["select", ", ".join(map(text, outputs)), f"from {_source(content['source'])}"]
    parts += [f"{join['kind']} join {_source(join['source'])}" for join in content["joins"]]
    if content["where"] is not None:
        parts.append(f"where {text(content['where'])}")
    if content.get("sets"):
        levels = ["(" + ", ".join(text(keys[place]) for place in one) + ")" for one in content["sets"]]
        parts.append(f"group by grouping sets ({', '.join(levels)})")
    elif keys:
        parts.append(f"group by {', '.join(map(text, keys))}")
    for clause in ("having", "qualify"):
        if content.get(clause) is not None:
            parts.append(f"{clause} {text(content[clause])}")
    if content.get("order"):
        parts.append("order by " + ", ".join(_order(each, text) for each in content["order"]))
    if content.get("limit") is not None:
        parts.append(f"limit {content['limit']}")
    if content.get("offset"):
        parts.append(f"offset {content['offset']}")
    return " ".join(parts)


def _source(source: Node) -> str:
    return str(source["table"]) if source["is"] == "Named" else f"({_rows(source['rows'])})"


def _rows(rows: Node) -> str:
    """A SELECT inside."""
    if rows["is"] == "Union":
        return " union all ".join(map(_rows, rows["parts"]))
    keys = [key["expression"] for key in rows["keys"]]
    return _select(rows, keys, [output.get("expression") for output in rows["outputs"]])


def _order(node: Node, text: Callable[[Any], str]) -> str:
    return text(node["expression"]) + (" desc" if node["descending"] else "")


def _text(node: Any, text: Callable[[Any], str]) -> str:
    if not isinstance(node, dict):
        return str(node)
    write = _WRITERS.get(str(node.get("is")))
    return f"{node.get('is')}(...)" if write is None else write(node, text)


def _aggregate(node: Node, text: Callable[[Any], str]) -> str:
    kind = str(node["kind"])
    if kind in _AGGREGATES:
        condition = node.get("second")
        return _AGGREGATES[kind] + ("" if condition is None else f" filter (where {text(condition)})")
    inside = [text(node[part]) for part in ("argument", "second") if node.get(part) is not None]
    return f"{kind}({', '.join(inside)})"


def _literal(node: Node, _: Callable[[Any], str]) -> str:
    value = node["value"]
    return f"'{value}'" if node["kind"] in ("str", "date", "datetime") else "NULL" if value is None else str(value)


def _operator(node: Node, text: Callable[[Any], str]) -> str:
    sides = [text(node[side]) for side in ("left", "right")]
    nested = [isinstance(node[side], dict) and node[side].get("is") == "Arithmetic" for side in ("left", "right")]
    shown = [f"({side})" if deep else side for side, deep in zip(sides, nested, strict=True)]
    return f"{shown[0]} {node['op']} {shown[1]}"


def _case(node: Node, text: Callable[[Any], str]) -> str:
    return f"case ... else {text(node['otherwise'])} end"


_WRITERS: Final[Mapping[str, Callable[[Node, Callable[[Any], str]], str]]] = {
    "Name": lambda node, _: str(node["column"]),
    "Literal": _literal,
    "Aggregate": _aggregate,
    "Arithmetic": _operator,
    "Compare": _operator,
    "And": lambda node, text: " and ".join(map(text, node["parts"])),
    "Or": lambda node, text: "(" + " or ".join(map(text, node["parts"])) + ")",
    "Not": lambda node, text: f"not ({text(node['operand'])})",
    "Negate": lambda node, text: f"-{text(node['operand'])}",
    "IsNull": lambda node, text: f"{text(node['operand'])} is null",
    "In": lambda node, text: f"{text(node['operand'])} in ({', '.join(map(text, node['values']))})",
    "Like": lambda node, text: f"{text(node['operand'])} like '{node['pattern']}'",
    "Call": lambda node, text: f"{node['function']}({', '.join(map(text, node['arguments']))})",
    "Cast": lambda node, text: f"cast({text(node['operand'])} as {node['kind']})",
    "Case": _case,
    "UnitOf": lambda node, _: "unit",
    "InRows": lambda node, text: f"{text(node['operand'])} in ({_rows(node['rows'])})",
    "Inner": lambda node, _: f"({_select(node['question'], node['question']['keys'], node['question']['outputs'])})",
    "Over": lambda node, text: f"{node['function']}({text(node['argument']) if node['argument'] else ''}) over (...)",
    "Total": lambda node, text: f"{node['function']}({text(node['argument']) if node['argument'] else '*'}) of all",
    "Several": lambda node, text: f"[{', '.join(map(text, node['items']))}]",
    "LeftOut": lambda node, text: f"grouping({text(node['key'])})",
}
