"""Reading of tests/golden: other people's numbers (see its README.md)."""

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "golden" / "berta2026"


def rows(name):
    with open(FOLDER / name, newline="") as f:
        return list(csv.DictReader(f))


@lru_cache
def arrays(name):
    with np.load(FOLDER / "inputs" / f"{name}.npz") as archive:
        return {key: archive[key].astype(np.int64) if archive[key].dtype.kind == "i" else archive[key] for key in archive}
