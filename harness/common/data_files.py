"""Where a file of data lies, what it consists of, and its checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from harness.errors import BadInputError

FOLDER_FILES = ("nll_logits.npy", "nll_labels.npy")  # of a folder of predictions as arrays


def find(path: str) -> Path:
    """The file as given (relative to the working folder), else below the folder that CALHARNESS_DATA names; also a folder with
    nll_logits.npy and nll_labels.npy."""
    given = Path(path).expanduser()
    data = os.environ.get("CALHARNESS_DATA")
    candidates = [given] + ([Path(data) / given] if data and not given.is_absolute() else [])
    for candidate in candidates:
        if all(file.is_file() for file in members(candidate)):
            return candidate.resolve()
    unset = "; CALHARNESS_DATA, the folder of downloaded data, is not set"
    hint = " or below the folder that CALHARNESS_DATA names" if data else unset
    raise BadInputError(f"no file {path} here{hint}.")


def members(path: str | Path) -> list[Path]:
    """The files that a path stands for: itself, or the two of a folder of npy files."""
    path = Path(path)
    return [path / name for name in FOLDER_FILES] if path.is_dir() else [path]


def stamp(path: str | Path) -> tuple[tuple[int, int], ...]:
    """Time of change and size of every file of a path: while they stay, what was read of it is not read again."""
    return tuple((s.st_mtime_ns, s.st_size) for s in (file.stat() for file in members(path)))


def sha256(path: str | Path) -> str:
    """Checksum of a file, as 64 hexadecimal digits; of a folder of npy files, that of its files' checksums."""
    if Path(path).is_dir():
        return hashlib.sha256("\n".join(map(sha256, members(path))).encode()).hexdigest()
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()
