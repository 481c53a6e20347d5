"""Compute the ridge that the code of gruber2025 chooses in float32.

    python tools/float32_ridge.py [--estimators kkr,ukkr] [--smallest 1e-17] FILE.npz ...

Each file holds the top-label confidences of a network. All arrays are in float32, and the products
of matrices are in the order of the authors' code. Their code forms a kernel matrix, diagonalises it
and multiplies matrices of 6,400 columns, all with numpy. Small eigenvalues are then only noise, so
that small ridges have a large risk. The noise depends on numpy's BLAS and on the processor.

The script prints one CSV row per file, estimator and ridge:

    root_risk      mean over the folds of the square root of the risk, times 100
    root_risk_se   its standard error
    rms            the estimate on the test part, mean over the folds
    rms_sd         its standard deviation over the folds
    products       order of the products: authors

A fold takes about a minute of one core, and 10 seconds more per ridge. `--smallest` leaves out
smaller ridges. experiments/gruber2025/float32_ridges.csv holds the rows that were computed so far.
Those with the order `short` are older. They come from scipy's eigenvectors and products that skip
the eigenvalues of 0, so their noise is another one.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.estimators.kernel_ridge import GRIDS, POWERS

FOLDS, GAMMA = 5, 1.0
COLUMNS = ["file", "estimator", "ridge", "root_risk", "root_risk_se", "rms", "rms_sd", "products"]


def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the float32 matrix of the RBF kernel between two arrays of scalars.

    The squared distances are computed in float64, then rounded, as in scikit-learn.
    """
    a, b = a.astype(np.float64), b.astype(np.float64)
    squares = a[:, None] ** 2 + b[None, :] ** 2 - 2.0 * np.outer(a, b)
    return np.exp(-GAMMA * np.maximum(squares, 0.0).astype(np.float32), dtype=np.float32)


def risk(u: np.ndarray, h: np.ndarray) -> float:
    """Return the mean of (u_i u_j - h_ij)^2 over all pairs i != j.

    `u` (n,) are the residuals y - p, and `h` (n, n) is the fit of their products.
    """
    squares = (np.outer(u, u) - h) ** 2
    n = len(u)
    return float(squares.sum() - np.diag(squares).sum()) / (n * (n - 1))


def fitted(kind: str, k: np.ndarray, u: np.ndarray) -> Callable[[float], Callable]:
    """Fit an estimator. Return a function from a ridge to the function that predicts.

    Parameters
    ----------
    kind : {"kkr", "ukkr"}
        The estimator.
    k : array (n, n)
        Kernel matrix of the fitted rows.
    u : array (n,)
        Their residuals.

    The function that predicts takes the kernel matrix (n, m) between fitted and new rows. It
    returns the products of residuals (m, m), or with `diagonal` only their diagonal.
    """
    values, vectors = np.linalg.eigh(k)
    values, targets = np.maximum(values, np.float32(0.0)), np.outer(u, u)
    if kind == "kkr":
        targets = vectors.T @ targets @ vectors

    def with_ridge(ridge: float) -> Callable:
        c = np.float32(ridge * len(k) ** POWERS[kind])
        if kind == "kkr":
            left, middle = vectors, np.reciprocal(np.outer(values, values) + c) * targets
        else:
            left, middle = (vectors * np.reciprocal(values + c)) @ vectors.T, targets

        def predict(new: np.ndarray, diagonal: bool = False) -> np.ndarray:
            a = new.T @ left
            if diagonal:
                return ((a @ middle) * a).sum(axis=1)
            return a @ middle @ left.T @ new

        return predict

    return with_ridge


def rows(path: Path, kinds: list[str], smallest: float) -> list[list[object]]:
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
        fit = rest[~np.isin(rest, held_out)]
        k, to_held, to_test = (kernel(p[fit], p[part]) for part in (fit, held_out, test))
        for kind in kinds:
            with_ridge = fitted(kind, k, u[fit])
            for ridge in GRIDS[kind, True]:
                if ridge < smallest * 0.99:
                    continue
                predict = with_ridge(ridge)
                roots.setdefault((kind, ridge), []).append(
                    risk(u[held_out], predict(to_held)) ** 0.5
                )
                with np.errstate(invalid="ignore"):
                    estimate = float(np.sqrt(predict(to_test, diagonal=True).mean()))
                estimates.setdefault((kind, ridge), []).append(estimate)
    return [
        [
            path.stem,
            kind,
            ridge,
            *(
                f"{number:.5g}"
                for number in (
                    100 * np.mean(each),
                    100 * np.std(each, ddof=1) / len(each) ** 0.5,
                    np.mean(estimates[kind, ridge]),
                    np.std(estimates[kind, ridge], ddof=1),
                )
            ),
            "authors",
        ]
        for (kind, ridge), each in roots.items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.npz")
    parser.add_argument("--estimators", default="kkr,ukkr")
    parser.add_argument("--smallest", type=float, default=0.0)
    options = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    for file in options.files:
        table.writerows(rows(file, options.estimators.split(","), options.smallest))
        sys.stdout.flush()
