"""The two errors of the library, and the "did you mean" of their messages.

`BadInputError` means that the caller can mend the call; `UndefinedError` means that the call was right, but that this sample has
no such number.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class BadInputError(ValueError):
    """The caller gave something that cannot be used. The message is one sentence: which argument, what was found,
    what is allowed. The command line prints it and exits with status 2."""


class UndefinedError(Exception):
    """The estimate does not exist for this sample (too few samples, an infinite loss). Recorded with its reason."""


def guess(word: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown word: ' (did you mean ...?)' with the known word closest to it, or nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
