"""Files of data: place, members, checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from harness.errors import BadInputError

FOLDER_FILES = ("nll_logits.npy", "nll_labels.npy")  # a folder of predictions as arrays


def find(path: str) -> Path:
    """Return the path of a file, or of a folder with FOLDER_FILES.

    It is relative to the working folder, else to the folder that CALHARNESS_DATA names.

    Raises
    ------
    BadInputError
        If it is in neither.
    """
    given = Path(path).expanduser()
    data = os.environ.get("CALHARNESS_DATA")
    candidates = [given] + ([Path(data) / given] if data and not given.is_absolute() else [])
    for candidate in candidates:
        if all(file.is_file() for file in members(candidate)):
            return candidate.resolve()
    hint = "; CALHARNESS_DATA, the folder of downloaded data, is not set"
    if data:
        hint = " or below the folder that CALHARNESS_DATA names"
    raise BadInputError(f"no file {path} here{hint}.")


def members(path: str | Path) -> list[Path]:
    """Return the files of a path: itself, or the two of a folder of npy files."""
    path = Path(path)
    return [path / name for name in FOLDER_FILES] if path.is_dir() else [path]


def stamp(path: str | Path) -> tuple[tuple[int, int], ...]:
    """Return time of change and size of every file of a path, as a key for caches."""
    states = [file.stat() for file in members(path)]
    return tuple((state.st_mtime_ns, state.st_size) for state in states)


def sha256(path: str | Path) -> str:
    """Return the checksum of a file; for a folder of npy files, that of its files' checksums."""
    if Path(path).is_dir():
        return hashlib.sha256("\n".join(map(sha256, members(path))).encode()).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
