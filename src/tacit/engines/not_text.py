"""Files that are called .csv or .jsonl and hold something else: `tacit init` tells the owner so in a sentence.

It looks at the first bytes, and at characters in the beginning that no text has.
"""

from __future__ import annotations

import re
from typing import Final

from tacit.errors import EngineError

_KNOWN: Final = (
    (b"PAR1", "a Parquet file", "rename it to end in .parquet"),
    (b"\x1f\x8b", "a gzip file", "rename it to end in .gz, e.g. visits.csv.gz"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet", "save the sheet as CSV"),
    (b"ARROW1", "an Arrow file", "save it as Parquet"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it"),
    (b"BZh", "a bzip2 archive", "unpack it"),
    (b"%PDF", "a PDF", "export the table as CSV"),
)
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffd]")
_SHARE: Final = 0.01
"""A beginning with a larger share of control characters than this is not text."""


def refuse_what_is_not_text(path: str, beginning: bytes, encoding: str) -> None:
    """Refuse a file whose beginning is not a text's."""
    packed = path.lower().endswith(".gz")
    for magic, what, mend in _KNOWN:
        if beginning.startswith(magic):
            inside = " inside" if packed else ""
            raise EngineError(f"{path} is {what}{inside}, not a text. Please {mend}.")
    text = beginning.decode(encoding, "replace")[:100_000]
    first = text.partition("\n")[0]
    if "\x00" in first or len(_CONTROL.findall(text)) > _SHARE * len(text):
        raise EngineError(
            f"{path} is not a text: it begins with bytes that no text has. Save the table as CSV (UTF-8)."
        )
