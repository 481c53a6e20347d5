"""Open files for reading, but only regular ones.

A device can have endless content, and a pipe or a socket can make its reader wait for ever. The
counterpart for writing is `harness.common.writing`, which replaces only regular files.
"""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from harness.common import memory
from harness.errors import BadInputError

SPECIAL = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def special_kind(path: str | Path) -> str | None:
    """Return "a device", "a pipe" or "a socket" if `path` leads to one, else None.

    Symbolic links are followed. A path that does not exist gives None.
    """
    try:
        return SPECIAL.get(stat.S_IFMT(os.stat(path).st_mode))
    except (OSError, ValueError):
        return None


def refuse_special(path: str | Path) -> None:
    """Raise BadInputError if `path` leads to a device, a pipe or a socket.

    Call this before a library opens the path itself.
    """
    if kind := special_kind(path):
        raise BadInputError(f"{path} is {kind}, not a file; move it away, or give another path.")


def open_file(path: str | Path) -> BufferedReader:
    """Open a regular file for reading bytes. BadInputError for a device, a pipe or a socket."""
    refuse_special(path)
    return open(path, "rb")


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a regular file (see `open_file`)."""
    with open_file(path) as file:
        return file.read()


def read_text(path: str | Path) -> str:
    """Return the content of a regular file in UTF-8 (see `open_file`)."""
    refuse_special(path)
    return Path(path).read_text(encoding="utf-8")


def refuse_large(path: str | Path, size: int) -> None:
    """Raise BadInputError if a table does not fit into memory.

    `size` is its number of bytes in memory, by the header of the file. The limit is 80 % of the
    machine's memory, as for `max_memory`.
    """
    limit = memory.default_limit()
    if size > limit:
        raise BadInputError(
            f"{path} holds a table of {size:,} bytes, but only {limit:,} fit into memory; leave "
            "out columns or rows, or use a machine with more memory."
        )
