"""Read files of predictions once, and keep their content until they change."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from harness.common import data_files
from harness.math.notions import checked
from harness.sources import files
from harness.sources.forms.terms import Options


class Loaded(NamedTuple):
    """Content of a file of predictions.

    Parameters
    ----------
    p, y : ndarray
        Predictions (n,) or (n, k), and labels (n,).
    sha256 : str
        Checksum of the file.
    content : str
        Hash of p and y, 16 hexadecimal digits.
    described : str
        One line that says how the file was read.
    names : tuple of str, or None
        Names of the classes.
    unused : tuple of str
        Names of the arrays of the file that were not used.
    """

    p: np.ndarray
    y: np.ndarray
    sha256: str
    content: str
    described: str
    names: tuple[str, ...] | None
    unused: tuple[str, ...]


@lru_cache(maxsize=8)
def read_predictions(
    path: str, split: str, options: Options, stamp: tuple[tuple[int, ...], ...]
) -> Loaded:
    """Read a file of predictions; a cached result is used until the file changes.

    `stamp` holds times of change and sizes, which are part of the cache key.
    """
    p, y, described, names, unused = files.read(path, split, **options._asdict())
    p, y = checked(p, y)
    content = _content(p, y, options.top_label)
    return Loaded(p, y, data_files.sha256(path), content, described, names, unused)


def _content(p: np.ndarray, y: np.ndarray, top_label: bool) -> str:
    """Return a hash of predictions and labels, 16 hexadecimal digits."""
    p = p[:, 1] if p.ndim == 2 and p.shape[1] == 2 else p  # the second column determines the first
    content = hashlib.blake2b(f"{p.shape} {top_label}".encode(), digest_size=8)
    content.update(np.ascontiguousarray(p, dtype="<f8").data)
    content.update(np.ascontiguousarray(y, dtype="<i8").data)
    return content.hexdigest()


@lru_cache(maxsize=256)
def checksum(path: str, *stamp: tuple[int, ...]) -> str:
    """Return the sha256 of a file; `stamp` (time of change and size) is part of the cache key."""
    return data_files.sha256(path)
