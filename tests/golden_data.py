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


def optimality_gap(y, weights, v, strength):
    """How far v is from the optimality conditions of total-variation denoising, 0 at the minimiser: with z_j = sum_{i <= j} c_i
    (y_i - v_i), the largest of |z_j| - strength, of |z_j + strength| where v goes up, |z_j - strength| where it goes down, and of
    |z_n|."""
    z = np.cumsum(weights * (y - v))
    step = np.diff(v)
    inner = z[:-1]
    gaps = [np.abs(z[-1:]), np.abs(inner) - strength, np.abs(inner + strength)[step > 0], np.abs(inner - strength)[step < 0]]
    return float(max(max(g.max(initial=0.0) for g in gaps), 0.0))
