"""Golden numbers of estimators of the literature, and samples for tests of estimators."""

import csv
import itertools
import json

import numpy as np
from golden_data import FOLDER
from numpy.random import default_rng
from scipy.special import expit, logit

ALONE = FOLDER.parent / "literature_a"
PACKAGES = FOLDER.parent / "literature"
NUMBERS = json.loads((PACKAGES / "b_numbers.json").read_text())
LOESS = json.loads((PACKAGES / "loess.json").read_text())
CONTINUOUS = ("over", "flat")
ALL = (*CONTINUOUS, "lattice")


def golden(*sources):
    """Return [(input, parameter, quantity, value)] of some sources."""
    with open(ALONE / "golden.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    return [
        (r["input"], r["parameter"], r["quantity"], float(r["value"]))
        for r in rows
        if r["source"].startswith(sources)
    ]


def read_inputs():
    """Return the arrays on which `golden` was computed."""
    with np.load(ALONE / "inputs.npz") as archive:
        return {
            name: archive[name].astype(np.float64 if name.endswith("_p") else np.int64)
            for name in archive
        }


def sample(name):
    """Return p and y of a sample on which NUMBERS were computed."""
    with np.load(PACKAGES / "b_samples.npz") as kept:
        return kept[f"{name}_p"], kept[f"{name}_y"].astype(np.int64)


def value(estimator, p, y, name=None):
    """Return the value of an estimand, by default the first."""
    estimates = estimator(np.asarray(p, dtype=float), np.asarray(y))
    return estimates[name or next(iter(estimates))].value


def values(estimator, p, y, rng=0):
    """Return {estimand: value}."""
    estimates = estimator(np.asarray(p), np.asarray(y), default_rng(rng))
    return {name: e.value for name, e in estimates.items()}


def all_labels(n):
    return np.array(list(itertools.product((0, 1), repeat=n)))


def probability(labels, c):
    return np.where(labels == 1, c, 1 - c).prod(axis=1)


def drawn(n, seed, power=1.5):
    """Return n predictions from Beta(1/2, 1/2), and outcomes with P(Y = 1) = p^power."""
    rng = default_rng(seed)
    p = rng.beta(0.5, 0.5, n)
    return p, (rng.random(n) < p**power).astype(np.int64)


def line_sample(n, slope, shift, rng):
    """Return uniform scores p (n,) and labels whose logit is shift + slope logit(p)."""
    p = rng.uniform(size=n)
    return p, (rng.uniform(size=n) < expit(shift + slope * logit(p))).astype(int)
