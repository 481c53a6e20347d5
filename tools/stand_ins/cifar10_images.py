"""Read the images of CIFAR-10 below CALHARNESS_DATA: without loss, or as JPEGs.

lossless   images/cifar10_train_a.npz, cifar10_train_b.npz and cifar10_test.npz with the arrays
           webp (strips of images below each other, as lossless WebP), end (where each strip
           ends) and y. `official_order` in the last file orders the test images.
jpeg       images/cifar10_jpeg.npz with jpeg_<part>, end_<part> and y_<part>, one JPEG per
           image. JPEGs lose details, so that this is another data set.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harness.errors import BadInputError

FILES = {
    "lossless": ("cifar10_train_a.npz", "cifar10_train_b.npz", "cifar10_test.npz"),
    "jpeg": ("cifar10_jpeg.npz",),
}
SIZE = 32  # height and width in pixels


class Images(NamedTuple):
    """Images `x` (n, 3, 32, 32) uint8, and labels `y` (n,) int64 in 0..9."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Source:
    """Files of images; `kind` is a key of FILES."""

    kind: str
    paths: tuple[Path, ...]

    @property
    def checksum(self) -> str:
        """Return the sha256 of one file, or that of the checksums of several."""
        sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in self.paths]
        return sums[0] if len(sums) == 1 else hashlib.sha256(" ".join(sums).encode()).hexdigest()

    def read(self) -> tuple[Images, Images]:
        """Return the training and the test images, in the order of the files."""
        if self.kind == "jpeg":
            with np.load(self.paths[0], allow_pickle=False) as arrays:
                train, test = (_part(arrays, f"_{part}", "jpeg") for part in ("train", "test"))
            return train, test
        parts = []
        for path in self.paths:
            with np.load(path, allow_pickle=False) as arrays:
                images = _part(arrays, "", "webp")
                if "official_order" in arrays:
                    order = arrays["official_order"]
                    images = Images(images.x[order], images.y[order])
            parts.append(images)
        *train_parts, test = parts
        return Images(*(np.concatenate(columns) for columns in zip(*train_parts))), test


def find(kind: str | None = None) -> Source:
    """Return the files of images of this kind, by default the first kind of FILES that is there.

    Raises BadInputError if they are not below CALHARNESS_DATA, or if the kind is unknown.
    """
    if kind is not None and kind not in FILES:
        raise BadInputError(f"images is {kind!r}; allowed are {', '.join(FILES)}.")
    data = os.environ.get("CALHARNESS_DATA")
    for name in FILES if kind is None else (kind,):
        paths = tuple(Path(data or "").expanduser() / "images" / file for file in FILES[name])
        if data and all(path.is_file() for path in paths):
            return Source(name, paths)
    files = FILES[kind or "lossless"]
    raise BadInputError(
        f"the images of CIFAR-10 are not there; put images/{', images/'.join(files)} into the "
        "folder CALHARNESS_DATA."
    )


def _part(arrays: Mapping[str, Any], end: str, codec: str) -> Images:
    """Decode the images of one part, whose arrays have names that end in `end`."""
    from PIL import Image

    data, ends = arrays[f"{codec}{end}"], arrays[f"end{end}"]
    strips = [
        np.asarray(Image.open(io.BytesIO(data[start:stop].tobytes())).convert("RGB"))
        for start, stop in zip([0, *ends[:-1]], ends)
    ]
    x = np.concatenate(strips).reshape(-1, SIZE, SIZE, 3)
    return Images(np.ascontiguousarray(x.transpose(0, 3, 1, 2)), arrays[f"y{end}"].astype(np.int64))
