"""Read the authors' numbers in tests/golden (see its README.md)."""

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
from harness.experiments.berta2026 import authors

from harness.estimators.certified.denoising_kernels import denoise
from harness.math.losses import Lp, OneSided, Squared

FOLDER = Path(__file__).parent / "golden" / "berta2026"


PROBLEMS = {  # h_func of the authors: our problem
    "overconfident_binary": "beta_overconfident",
    "almost_perfectly_calibrated_binary": "beta_shifted",
    "perfectly_calibrated_bin": "beta_calibrated", "underconfident_binary": "beta_underconfident",
    "wavy_increasing_function_bin": "beta_wavy",
    "perfectly_calibrated_mc": "dirichlet{}_calibrated",
    "overconfident_mc": "dirichlet{}_overconfident",
    "underconfident_mc": "dirichlet{}_underconfident",
    "harmonic_distortion_mc": "dirichlet{}_harmonic",
}  # fmt: skip
LOSSES = {  # metric of the authors: our loss
    "L1": Lp(1.0), "L2": Lp(2.0), "Lp1.5": Lp(1.5), "Lp3": Lp(3.0), "sq": Squared(),
    "sqL2": Squared(),
    "KL": authors.LogLoss(1e-8), "L1_over": OneSided(Lp(1.0), "over"),
    "L1_under": OneSided(Lp(1.0), "under"),
}  # fmt: skip


def rows(name):
    with open(FOLDER / name, newline="") as f:
        return list(csv.DictReader(f))


def published_runs(*names):
    """Rows of these files by problem and seed."""
    runs = {}
    for row in (row for name in names for row in rows(name)):
        problem = PROBLEMS[row["h_func"]].format(row.get("classes"))
        runs.setdefault((problem, int(row["seed"])), []).append(row)
    return runs


@lru_cache
def arrays(name):
    with np.load(FOLDER / "inputs" / f"{name}.npz") as archive:
        return {
            key: archive[key].astype(np.int64) if archive[key].dtype.kind == "i" else archive[key]
            for key in archive
        }


def tv_denoise(y, weights, strength):
    """Denoise labels y with weights by total variation."""
    y, weights = np.asarray(y, float), np.asarray(weights, float)
    return denoise(y * weights, weights, float(strength), len(y))


def optimality_gap(y, weights, v, strength):
    """Return the distance of v from the optimality conditions of total-variation denoising.

    It is 0 at the minimiser. With z_j = sum_{i <= j} c_i (y_i - v_i), it is the largest of
    |z_j| - strength, of |z_j + strength| where v rises, of |z_j - strength| where v falls, and of
    |z_n|.
    """
    z = np.cumsum(weights * (y - v))
    step = np.diff(v)
    inner = z[:-1]
    gaps = [
        np.abs(z[-1:]),
        np.abs(inner) - strength,
        np.abs(inner + strength)[step > 0],
        np.abs(inner - strength)[step < 0],
    ]
    return float(max(max(g.max(initial=0.0) for g in gaps), 0.0))
