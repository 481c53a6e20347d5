"""The two errors of the library, and helpers for their messages.

`BadInputError`: an argument is wrong, and the caller can correct it.
`UndefinedError`: the arguments are right, but the estimate does not exist for this sample.
"""

from __future__ import annotations

import difflib
import errno
import os
import warnings
from collections.abc import Sequence


class BadInputError(ValueError):
    """Error for an argument or input file that cannot be used.

    The message is one sentence with the argument, its value and the allowed values. The command
    line prints the message and exits with status 2.
    """


class UndefinedError(Exception):
    """Error for an estimate that does not exist for this sample, such as an infinite loss.

    The record of the cell keeps the message as its reason.
    """


_SYSTEM = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): (
        "the disk has no space left to write {}",
        "free some space, or choose another folder with out=DIR",
    ),
    (errno.EACCES, errno.EPERM, errno.EROFS): (
        "no permission to read or write {}",
        "change its permissions, or choose another folder with out=DIR",
    ),
    (errno.ENOTDIR, errno.EEXIST): (
        "{} is not a folder, or a file stands where its path needs a folder",
        "move the file away, or give another path",
    ),
    (errno.EISDIR, errno.ENOTEMPTY): (
        "{} is a folder, but a file is needed there",
        "move the folder away, or give another path",
    ),
    (errno.ENOENT,): ("{} does not exist, or its folder does not", "give another path"),
    (errno.ELOOP,): (
        "{} is a symbolic link that leads back to itself",
        "remove the link, or give another path",
    ),
    (errno.ENAMETOOLONG,): ("the name {} is too long for this disk", "give a shorter name"),
    (errno.EMFILE, errno.ENFILE): (
        "{} cannot be opened, because too many files are open",
        "raise the limit with `ulimit -n`, or give jobs= a smaller number",
    ),
    (errno.ENOMEM, errno.EAGAIN): (
        "the system has no memory or no free process for {}",
        "give jobs= a smaller number",
    ),
    (errno.EIO, errno.ESTALE): (
        "the disk or the network failed while {} was read or written",
        "check the disk, then give the same command again to resume the run",
    ),
}


def system_sentence(error: OSError) -> str:
    """Return one sentence about an error of the operating system: event, file and remedy.

    >>> system_sentence(OSError(errno.EISDIR, "Is a directory", "a.csv"))
    'a.csv is a folder, but a file is needed there; move the folder away, or give another path.'
    """
    if error.errno is None:
        return " ".join(str(error).split()) or type(error).__name__
    file = error.filename2 or error.filename  # a failed rename names its target second
    name = os.fsdecode(file) if isinstance(file, (str, bytes, os.PathLike)) else None
    for numbers, (event, remedy) in _SYSTEM.items():
        if error.errno in numbers:
            return f"{event.format(name or 'a file')}; {remedy}."
    reason = (error.strerror or type(error).__name__).lower()
    return (
        f"the operating system refused access to {name or 'a file'} ({reason}); correct this, "
        "then run again."
    )


# Names that mean several estimators elsewhere: the id that most people want, and what it is.
_OTHER_NAMES = {
    "ece": ("binned15", "the L1 error in 15 bins of equal width, by default of the top label"),
    "ace": ("binned15_mass", "the L1 error in 15 bins with equally many rows"),
    "mce": ("binned15", "whose estimand linf is the largest gap of 15 bins of equal width"),
}


def guess(word: str, known: Sequence[str]) -> str:
    """Return " (did you mean 'x'?)", where x is the known word most like `word`.

    Return '' if no known word is similar. Common names of the literature lead to their estimator.

    >>> guess("ACE", ["binned15_mass", "tce"])
    " (did you mean 'binned15_mass', the L1 error in 15 bins with equally many rows?)"
    """
    other, meaning = _OTHER_NAMES.get(word.lower(), ("", ""))
    if other in known:
        return f" (did you mean {other!r}, {meaning}?)"
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def __getattr__(name: str) -> type[Exception]:
    """Return the error class for a name that version 0.1 used, and warn that it has changed."""
    renamed: dict[str, type[Exception]] = {"BadInput": BadInputError, "Undefined": UndefinedError}
    if name not in renamed:
        raise AttributeError(f"module 'harness.errors' has no attribute {name!r}")
    warnings.warn(
        f"harness.errors.{name} has been renamed {renamed[name].__name__}",
        DeprecationWarning,
        stacklevel=2,
    )
    return renamed[name]
