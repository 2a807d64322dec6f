"""The form in which a released table leaves, by what the asker accepts: JSON, CSV, an Arrow stream or Parquet.

Promise: all of it is made from released values, so the form costs nothing. A form that is not known is refused after
the answer is stored, so nothing is lost: asked again in another form it is free.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Final

from tacit.answer import Answer
from tacit.answer.exported import library
from tacit.doors.http.problems import Problem
from tacit.errors import TacitError

JSON: Final = "application/json"


def _csv(answer: Answer) -> bytes:
    return answer.to_csv().encode()


def _arrow(answer: Answer) -> bytes:
    table, pyarrow = answer.to_arrow(), library("pyarrow")
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _parquet(answer: Answer) -> bytes:
    return answer.sheet().to_parquet()


WRITERS: Final[Mapping[str, Callable[[Answer], bytes]]] = {
    "text/csv": _csv,
    "application/vnd.apache.arrow.stream": _arrow,
    "application/vnd.apache.parquet": _parquet,
}


def wanted(accept: str) -> str:
    """The first form that is accepted and known; JSON where anything is. Refused before anything is asked."""
    listed = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    for each in listed or [JSON]:
        if each in WRITERS:
            return each
        if each in ("", "*/*", "application/*", JSON):
            return JSON
    raise Problem(406, "unknown form", f"Forms: {JSON}, {', '.join(WRITERS)}.")


def encoded(answer: Answer, form: str) -> bytes:
    """The table in this form."""
    try:
        return WRITERS[form](answer)
    except (TacitError, ImportError) as missing:
        raise Problem(
            406, "form not installed", f"The server cannot write {form}. Ask for {JSON} or text/csv."
        ) from missing
