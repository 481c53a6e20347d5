"""Find data files and compute their checksums."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from harness.common.reading import open_file, refuse_special
from harness.errors import BadInputError

# A folder with these two files (logits and labels) counts as one data file.
FOLDER_FILES = ("nll_logits.npy", "nll_labels.npy")


def find(path: str) -> Path:
    """Return the absolute path of a data file.

    A folder that contains nll_logits.npy and nll_labels.npy counts as one data file. A relative
    path is looked up in the working folder, and then in the folder that the environment variable
    CALHARNESS_DATA names.

    Raises
    ------
    BadInputError
        If neither place has such a file, or if it is a device, a pipe or a socket.
    """
    given = Path(path).expanduser()
    data = os.environ.get("CALHARNESS_DATA")
    candidates = [given] + ([Path(data) / given] if data and not given.is_absolute() else [])
    for candidate in candidates:
        for file in members(candidate):
            refuse_special(file)
        if all(file.is_file() for file in members(candidate)):
            return candidate.resolve()
    if any(candidate.is_dir() for candidate in candidates):
        raise BadInputError(f"{path or '.'} is a folder and no file; give the path of a file.")
    second_place = "; CALHARNESS_DATA, the folder of downloaded data, is not set"
    if data:
        second_place = " or in the folder that CALHARNESS_DATA names"
    raise BadInputError(f"there is no file {path} in the working folder{second_place}.")


def members(path: str | Path) -> list[Path]:
    """Return the files that a path stands for, as a list.

    For a folder they are its nll_logits.npy and nll_labels.npy, else the file itself.
    """
    path = Path(path)
    return [path / name for name in FOLDER_FILES] if path.is_dir() else [path]


def stamp(path: str | Path) -> tuple[tuple[int, int], ...]:
    """Return (time of last change in ns, size in bytes) of each file that a path stands for.

    The result changes whenever the content may have changed, so it serves as a key for caches.
    """
    states = [file.stat() for file in members(path)]
    return tuple((state.st_mtime_ns, state.st_size) for state in states)


def sha256(path: str | Path) -> str:
    """Return the SHA-256 checksum of a file in hexadecimal digits.

    For a folder of npy files, it is the checksum of the list of their checksums.
    """
    if Path(path).is_dir():
        return hashlib.sha256("\n".join(map(sha256, members(path))).encode()).hexdigest()
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
