"""Code and images for another machine: parts below the limit, complete, without results."""

import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from harness.tools.stand_ins import cifar10_images

from harness import BadInputError
from harness.sources import packs
from harness.tools import pack_parts

LOSSLESS = ("cifar10_train_a_images", "cifar10_train_b_images", "cifar10_test_images")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files of this checkout, with images of a few bytes."""
    folder = tmp_path / "data" / "images"
    folder.mkdir(parents=True)
    for name in cifar10_images.FILES["lossless"]:
        np.savez(folder / name, y=np.arange(5))
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / "data"))
    return pack_parts.packed_files()


def test_code_and_images_fit_into_parts_below_64_mb(files):
    """With the sizes of the true images, by data/packs.yaml."""
    sizes = {name: path.stat().st_size for name, path in files.items()}
    for pack in map(packs.packs().get, LOSSLESS):
        name = f"calharness_data/{pack.path}"
        assert name in sizes
        sizes[name] = pack.bytes
    parts = pack_parts.split(sizes)
    assert sorted(name for names in parts for name in names) == sorted(sizes)
    totals = [sum(sizes[name] for name in names) for names in parts]
    assert len(parts) < 4 and max(totals) < pack_parts.LIMIT
    with pytest.raises(BadInputError, match="a has 64,000,000 bytes"):
        pack_parts.split({"a": 64_000_000})


def test_parts_hold_all_but_results_and_the_command_runs_from_them(files, tmp_path):
    limit = 5_000_000
    paths = pack_parts.write(files, tmp_path / "parts", limit)
    assert len(paths) > 1 and all(path.stat().st_size < limit for path in paths)
    there = tmp_path / "there"
    for path in paths:
        with tarfile.open(path) as archive:
            archive.extractall(there, filter="data")
    assert not (there / "results").exists()
    for name, path in files.items():
        assert (there / name).read_bytes() == path.read_bytes(), name
    command = ["-m", "harness", "data", "make", "cifar10_networks", "--epochs", "0"]
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    variables |= {"CALHARNESS_DATA": str(there / "calharness_data"), "PYTHONPATH": str(there)}
    ended = subprocess.run(
        [sys.executable, *command], cwd=there, env=variables, capture_output=True, text=True
    )
    assert ended.returncode == 2 and "--epochs" in ended.stderr, ended.stderr
