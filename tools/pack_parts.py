"""Pack the code and the images of CIFAR-10 into tar files below 64 MB, for a machine with a GPU.

    python tools/pack_parts.py OUT

The tar files hold all tracked files without results/, and the lossless images of CALHARNESS_DATA
as calharness_data/images. On the other machine, which needs the packages of pyproject.toml with
the extra `imagenet`, unpack all of them into one folder and train there:

    for part in part*.tar; do tar -xf $part; done
    CALHARNESS_DATA=$PWD/calharness_data python -m harness data make cifar10_networks \\
        --epochs 250 --seeds 5,10,21,42,84 --device cuda --jobs 5 --out networks

A network's file is written as soon as its seed has ended, and networks/*.checkpoint after every
epoch. With a copy of this folder the same command resumes elsewhere.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

from harness.tools.stand_ins import cifar10_images

from harness.common.writing import whole_file
from harness.errors import BadInputError

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 64_000_000  # most bytes of a tar file
BLOCK, RECORD = tarfile.BLOCKSIZE, tarfile.RECORDSIZE
IMAGES = "calharness_data/images"


def packed_files(root: Path = ROOT) -> dict[str, Path]:
    """Return {name in the archive: path} of the tracked files and of images.

    The files of results/ and links to them are left out.
    """
    command = ["git", "-C", str(root), "ls-files", "-z", "--", ".", ":!results"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    files = {name: root / name for name in names.split("\0") if name}
    files = {name: path for name, path in files.items() if not path.is_symlink()}
    source = cifar10_images.find("lossless")
    return files | {f"{IMAGES}/{path.name}": path for path in source.paths}


def split(sizes: Mapping[str, int], limit: int = LIMIT) -> list[list[str]]:
    """Distribute files among as few tar files below `limit` bytes as first fit needs.

    `sizes` is {name: bytes}. The largest files are placed first. Raises BadInputError if one file
    does not fit.
    """
    parts: list[tuple[int, list[str]]] = []
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        # Two blocks of headers hold a long name, and a tar file is filled up to whole records.
        needed = 4 * BLOCK + -(-size // BLOCK) * BLOCK
        for i, (used, names) in enumerate(parts):
            if used + needed <= limit - 2 * RECORD:
                parts[i] = (used + needed, [*names, name])
                break
        else:
            if needed > limit - 2 * RECORD:
                raise BadInputError(f"{name} has {size:,} bytes; parts have at most {limit:,}.")
            parts.append((needed, [name]))
    return [sorted(names) for _, names in parts]


def write(files: Mapping[str, Path], out: Path, limit: int = LIMIT) -> list[Path]:
    """Write the tar files out/part1.tar, out/part2.tar, ... and return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    sizes = {name: path.stat().st_size for name, path in files.items()}
    paths = []
    for number, names in enumerate(split(sizes, limit), 1):
        paths.append(out / f"part{number}.tar")
        with whole_file(paths[-1]) as temporary, tarfile.open(temporary, "w") as archive:
            for name in names:
                archive.add(files[name], name, recursive=False)
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/pack_parts.py OUT")
    for path in write(packed_files(), Path(sys.argv[1])):
        print(f"{path}: {path.stat().st_size:,} bytes")
