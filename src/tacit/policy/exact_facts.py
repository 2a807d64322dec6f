"""The warning above and below exact facts about private rows, for every room that shows them to the owner."""

from __future__ import annotations

from typing import Final

NOT_FOR_RELEASE: Final = "NOT FOR RELEASE. These are exact facts about private rows, without any noise."
