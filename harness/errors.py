"""The two errors of the library, and the "did you mean" of their messages.

`BadInputError` means that the caller can mend the call; `UndefinedError` means that the call was right, but that this sample has
no such number.
"""

from __future__ import annotations

import difflib
import warnings
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


def __getattr__(name: str) -> type[Exception]:
    """The errors by the names that they had in version 0.1, with a warning."""
    renamed: dict[str, type[Exception]] = {"BadInput": BadInputError, "Undefined": UndefinedError}
    if name not in renamed:
        raise AttributeError(f"module 'harness.errors' has no attribute {name!r}")
    warnings.warn(f"{name} is called {renamed[name].__name__} now", DeprecationWarning, stacklevel=2)
    return renamed[name]
