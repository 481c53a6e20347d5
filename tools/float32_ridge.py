"""Compute the ridge that the code of gruber2025 chooses in float32.

    python tools/float32_ridge.py FILE.npz ...

Each file holds the top-label confidences of a network. The kernel matrix and its eigendecomposition
are in float32, as in the authors' code. Eigenvalues of the kernel matrix below about 1e-3 are then
only noise, so that small ridges have a large risk.

The script prints one CSV row per file, estimator and ridge:

    root_risk      mean over the folds of the square root of the risk, times 100
    root_risk_se   its standard error
    rms            the estimate on the test part

Every fold needs the eigenvectors of a 6,400 x 6,400 matrix, which takes about three minutes of one
core per file. experiments/gruber2025/float32_ridges.csv holds the rows that were computed so far.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from harness.estimators.kernel_ridge import GRIDS, POWERS

FOLDS, GAMMA = 5, np.float32(1.0)
COLUMNS = ["file", "estimator", "ridge", "root_risk", "root_risk_se", "rms"]


def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the float32 matrix of the RBF kernel between two arrays of scalars."""
    return np.exp(-GAMMA * np.square(a[:, None] - b[None, :]))


def risk(u: np.ndarray, h: np.ndarray) -> float:
    """Return the mean of (u_i u_j - h_ij)^2 over all pairs i != j.

    `u` (n,) are the residuals y - p, and `h` (n, n) is the fit of their products.
    """
    squares = np.square(np.outer(u, u) - h, dtype=np.float64)
    n = len(u)
    return float((squares.sum() - np.trace(squares)) / (n * (n - 1)))


def products(a: np.ndarray, z: np.ndarray, values: np.ndarray, c: np.float32, b=None) -> np.ndarray:
    """Return the products of residuals that the estimator kkr predicts, a M b'.

    The entry i, j of M is z_i z_j / (values_i values_j + c). `values` are the eigenvalues of the
    kernel matrix of the fitted rows, and `z` are the residuals of these rows in the basis of its
    eigenvectors. `a` and `b` are the kernel matrices between new rows and the fitted rows in the
    same basis, and `c` is the ridge. Without `b`, return the diagonal of a M a'.

    The eigenvalues that were clipped to 0 share one term, which saves most of the work.
    """
    some = values > 0.0
    m = np.outer(z[some], z[some]) / (np.outer(values[some], values[some]) + c)
    zero, all_of = a[:, ~some] @ z[~some], a @ z
    if b is None:
        inner = np.einsum("ij,ij->i", a[:, some] @ m, a[:, some])
        return inner + zero * (2 * all_of - zero) / c
    zero_b, all_of_b = b[:, ~some] @ z[~some], b @ z
    outer = np.outer(zero, all_of_b) + np.outer(all_of - zero, zero_b)
    return a[:, some] @ m @ b[:, some].T + outer / c


def rows(path: Path) -> list[list[object]]:
    """Return the CSV rows of one file of confidences."""
    data = np.load(path)
    p = data["confidence"].astype(np.float32)
    u = (data["true_label"] == data["pred_label"]).astype(np.float32) - p
    order = np.random.RandomState(0).permutation(len(p))
    n = int(0.8 * len(p))
    rest, test = order[:n], order[n:]
    roots: dict[tuple[str, float], list[float]] = {}
    estimates: dict[tuple[str, float], list[float]] = {}
    for held_out in np.array_split(rest, FOLDS):
        fitted = rest[~np.isin(rest, held_out)]
        values, vectors = eigh(kernel(p[fitted], p[fitted]), driver="evd", overwrite_a=True)
        values = np.maximum(values, np.float32(0.0))
        z = vectors.T @ u[fitted]
        a_held, a_test = (kernel(p[part], p[fitted]) @ vectors for part in (held_out, test))
        del vectors
        for kind in ("kkr", "ukkr"):
            for ridge in GRIDS[kind, True]:
                c = np.float32(ridge * len(fitted) ** POWERS[kind])
                if kind == "ukkr":
                    g = z / (values + c)
                    v, w = a_held @ g, a_test @ g
                    h, diagonal = np.outer(v, v), w * w
                else:
                    h = products(a_held, z, values, c, a_held)
                    diagonal = products(a_test, z, values, c)
                with np.errstate(invalid="ignore"):
                    estimate = float(np.sqrt(diagonal.mean(dtype=np.float64)))
                roots.setdefault((kind, ridge), []).append(risk(u[held_out], h) ** 0.5)
                estimates.setdefault((kind, ridge), []).append(estimate)
    return [
        [
            path.stem,
            kind,
            ridge,
            *(
                f"{100 * number:.5g}"
                for number in (np.mean(each), np.std(each, ddof=1) / len(each) ** 0.5)
            ),
            f"{np.mean(estimates[kind, ridge]):.5g}",
        ]
        for (kind, ridge), each in roots.items()
    ]


if __name__ == "__main__":
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    for name in sys.argv[1:]:
        table.writerows(rows(Path(name)))
        sys.stdout.flush()
