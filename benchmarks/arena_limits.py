"""Measure how well somebody could estimate the error who knew the family of each problem.

    python benchmarks/arena_limits.py [OUT.csv]        default: results/arena/limits.csv

A family of the arena consists of a few fixed problems, whose errors would be known to somebody who
knew them. So the generator of a family is defined here. It has the problem's predictions p and its
shape of the error, but not its size:

    E[Y given p] = p + s (C(p) - p),    log s uniform from log(1/8) to log(s_max)

C(p) is the problem's truth. s_max is the largest s at which all probabilities of a large sample
stay in [0, 1], at most 8. The problem itself is s = 1. An L1 error is proportional to s under every
notion, and a squared error to s^2. The label of a row has the probability a + s d, with a and a + d
its probabilities under p and under C. So the posterior of s given a sample is

    prod_i (a_i + s d_i) / s    on [1/8, s_max],  up to a factor,

and the Bayes estimates of the errors are multiples of the posterior means of s and s^2. Their root
mean squared errors at s = 1, divided by the true errors, are the result. They are over REPS
samples. These numbers are a reference and no lower bound: at s = 1 another estimate can be more
accurate. They use the whole vector of predictions under all notions. The samples of each problem
and n are drawn anew, so that the errors of a mean over problems average out. It takes four CPU
minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from harness.common.seeds import data_rng, digest
from harness.errors import BadInputError
from harness.estimators.base import posterior
from harness.evaluation.arena import limits
from harness.evaluation.arena.blocks import MOST_CLASSES
from harness.plan.components import load
from harness.problems.base import ProblemSpec
from harness.records import baseline

SIZES = (50, 100, 200, 1_000, 5_000, 20_000)
SEED = 11
REPS = 80
SMALLEST, LARGEST = 1.0 / 8.0, 8.0  # limits of s
POINTS = 200  # of the grid for the posterior of s
WIDTH = 8.0  # half-width of the grid in standard deviations
OUT = Path(__file__).parent.parent / "results" / "arena" / limits.FILE


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    rows = []
    for name, k in baseline.read().classes.items():
        if k > MOST_CLASSES:
            continue
        try:
            problem = load("problem", name, {})
            if ProblemSpec.of(problem).unavailable or not is_off(problem):
                continue
        except BadInputError:
            continue
        for n, values in relative_errors(name, problem).items():
            rows.append((name, n, *values))
            print(*rows[-1], sep="\t", flush=True)
    columns = [*limits.KEYS, *limits.RELATIVE.values(), "largest_s"]
    pd.DataFrame(rows, columns=columns).to_csv(out, index=False, float_format="%.4g")


def is_off(problem) -> bool:
    """Return True if a problem has an error and knows its posterior."""
    if ProblemSpec.of(problem).posterior is None:
        return False
    p, _ = problem.sample(1_000, np.random.default_rng(0))
    return bool(np.abs(posterior(problem, p) - p).mean() > 1e-6)


def relative_errors(name: str, problem) -> dict[int, tuple[float, float, float]]:
    """Return {n: relative root mean squared errors of l1 and of l2_squared, and s_max}.

    `name` is the id of the problem.
    """
    p, _ = problem.sample(max(SIZES), np.random.default_rng(0))
    largest = largest_scale(p, posterior(problem, p))
    results = {}
    for n in SIZES:
        errors = []
        for rep in range(REPS):
            p, y = problem.sample(n, sample_rng(name, n, rep))
            a, c = (label_probabilities(q, y) for q in (p, posterior(problem, p)))
            means = posterior_means(a, c - a, largest)
            errors.append((means[0] - 1.0, means[1] - 1.0))
        l1, l2_squared = np.sqrt(np.mean(np.square(errors), axis=0)).tolist()
        results[n] = l1, l2_squared, largest
    return results


def sample_rng(name: str, n: int, rep: int) -> np.random.Generator:
    """Return the generator of a sample, which neither another problem nor another n shares."""
    return data_rng(SEED, digest(f"{name}|{n}"), rep)


def label_probabilities(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the probability of each label under predictions of shape (n,) or (n, k)."""
    return np.where(y == 1, p, 1.0 - p) if p.ndim == 1 else p[np.arange(len(y)), y]


def largest_scale(p: np.ndarray, c: np.ndarray) -> float:
    """Return the largest s, from 1 to LARGEST, at which p + s (c - p) stays in [0, 1]."""
    gap = c - p
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(gap < 0.0, -p / gap, np.inf)
        above = np.where(gap > 0.0, (1.0 - p) / gap, np.inf)
    return float(np.clip(min(below.min(), above.min()), 1.0, LARGEST))


def posterior_means(a: np.ndarray, d: np.ndarray, largest: float) -> tuple[float, float]:
    """Return the posterior means of s and s^2, given probabilities a + s d of the labels.

    The logarithm of the likelihood is concave in s, so that bisection finds its maximum.
    """

    def probabilities(s: float) -> np.ndarray:
        return np.maximum(a + s * d, 1e-12)

    low, high = SMALLEST, largest
    for _ in range(40):
        middle = 0.5 * (low + high)
        is_left = np.sum(d / probabilities(middle)) > 0.0
        low, high = (middle, high) if is_left else (low, middle)
    mode = 0.5 * (low + high)
    width = WIDTH / np.sqrt(max(np.sum((d / probabilities(mode)) ** 2), 1e-300))
    # The prior is uniform in log s: a trapezoidal rule on a grid that is even in log s.
    s = np.geomspace(max(SMALLEST, mode - width), min(largest, mode + width), POINTS)
    logs = np.array([np.log(probabilities(value)).sum() for value in s])
    weights = np.exp(logs - logs.max())
    weights[[0, -1]] /= 2.0
    weights /= weights.sum()
    return float(weights @ s), float(weights @ s**2)


if __name__ == "__main__":
    main()
