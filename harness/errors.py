"""The two errors of the library, and helpers for their messages.

`BadInputError`: the caller can correct the call. `UndefinedError`: the call was right, but this
sample has no such number.
"""

from __future__ import annotations

import difflib
import errno
import os
import warnings
from collections.abc import Sequence


class BadInputError(ValueError):
    """The caller gave something that cannot be used.

    The message is one sentence: the argument, its value, what is allowed. The command line prints
    it and exits with status 2.
    """


class UndefinedError(Exception):
    """The estimate does not exist for this sample (too few samples, an infinite loss).

    It is recorded with its reason.
    """


_SYSTEM = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): (
        "there is no room left to write {}",
        "make room, or choose another folder by out=DIR",
    ),
    (errno.EACCES, errno.EPERM, errno.EROFS): (
        "{} may not be read or written here",
        "change its permissions, or choose another folder by out=DIR",
    ),
    (errno.ENOTDIR, errno.EEXIST): (
        "{} is no folder, or lies in a file",
        "move that file away, or give another path",
    ),
    (errno.EISDIR, errno.ENOTEMPTY): (
        "{} is a folder where a file is needed",
        "move it away, or give another path",
    ),
    (errno.ENOENT,): ("there is no {}, or no folder to hold it", "give another path"),
    (errno.ELOOP,): (
        "{} is a symbolic link that leads back to itself",
        "remove the link, or give another path",
    ),
    (errno.ENAMETOOLONG,): ("the name {} is too long for this disk", "give a shorter one"),
    (errno.EMFILE, errno.ENFILE): (
        "too many files are open at {}",
        "raise the limit with `ulimit -n`, or use fewer jobs=",
    ),
    (errno.ENOMEM, errno.EAGAIN): (
        "the system has no memory or no processes left for {}",
        "use fewer jobs=",
    ),
    (errno.EIO, errno.ESTALE): (
        "the disk or the network failed at {}",
        "check it; the same command resumes the run",
    ),
}


def system_sentence(error: OSError) -> str:
    """Return an error of the operating system as one sentence: what happened, file, remedy.

    >>> system_sentence(OSError(errno.ENOSPC, "No space left on device", "a.parquet"))
    'there is no room left to write a.parquet; make room, or choose another folder by out=DIR.'
    """
    if error.errno is None:
        return " ".join(str(error).split()) or type(error).__name__
    file = error.filename2 or error.filename  # a file is renamed to the second
    name = os.fsdecode(file) if isinstance(file, (str, bytes, os.PathLike)) else None
    for numbers, (event, remedy) in _SYSTEM.items():
        if error.errno in numbers:
            return f"{event.format(name or 'a file')}; {remedy}."
    reason = (error.strerror or type(error).__name__).lower()
    return f"the system refused {name or 'something'} ({reason}); correct it and run again."


def guess(word: str, known: Sequence[str]) -> str:
    """Return " (did you mean 'word'?)" with the closest known word, or ''."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def __getattr__(name: str) -> type[Exception]:
    """Return an error by its name of version 0.1, with a warning."""
    renamed: dict[str, type[Exception]] = {"BadInput": BadInputError, "Undefined": UndefinedError}
    if name not in renamed:
        raise AttributeError(f"module 'harness.errors' has no attribute {name!r}")
    warnings.warn(
        f"{name} is called {renamed[name].__name__} now", DeprecationWarning, stacklevel=2
    )
    return renamed[name]
