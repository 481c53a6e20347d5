"""Time the kernel estimators against textbook forms of the same formulas.

    python benchmarks/kernels.py           about five minutes
    python benchmarks/kernels.py --quick   without the slow cases

A textbook form evaluates a formula as it is written:

    kkr             one eigendecomposition per fold, n x n products per ridge
    ukkr            one linear system per ridge and fold
    class-wise KL   an n x n matrix of logarithms per class

Both sides of a pair use the same samples, settings and folds, on one thread. `gap` is the largest
relative difference of the results. `authors` is the CPU time of the authors' code, in seconds,
which was measured once on another machine.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from harness.experiments.gruber2025 import authors as gruber2025  # noqa: E402
from harness.experiments.popordanoska2024 import authors as popordanoska2024  # noqa: E402
from scipy.special import gammaln, logsumexp, xlogy  # noqa: E402

from harness import load_estimator, load_problem, reduce  # noqa: E402
from harness.estimators.application import apply  # noqa: E402
from harness.estimators.kernel_ridge import GRIDS, POWERS, KernelRidge  # noqa: E402
from harness.math.kernels import rbf  # noqa: E402
from harness.math.low_rank import pivoted_cholesky  # noqa: E402
from harness.math.risk import residuals  # noqa: E402

AUTHORS = {
    ("kkr", 1000): 1.36,
    ("kkr", 2000): 9.56,
    ("kkr", 5000): 150.6,
    ("ukkr", 1000): 3.07,
    ("ukkr", 2000): 22.9,
    ("class-wise KL, k = 10", 1000): 0.256,
    ("class-wise KL, k = 10", 2000): 2.28,
    ("class-wise KL, k = 10", 5000): 16.4,
}


def seconds(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the smallest CPU time of `repeats` calls, in seconds, and the last result."""
    timings = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        timings.append(time.process_time() - start)
    return min(timings), result


def show(
    case: str, n: int, ours: float, textbook: float | None = None, gap: float | None = None
) -> None:
    """Print one row of the table."""
    authors = AUTHORS.get((case, n))
    compared = f"{textbook:10.2f}{textbook / ours:7.0f}x" if textbook else " " * 18
    by_authors = f"{authors:8.2f} ({authors / ours:5.0f}x)" if authors else " " * 17
    difference = "" if gap is None else f"{gap:.1e}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{case:<34}{n:>7,}{ours:>10.3f}{compared}  {by_authors}  {difference:>8}"
        f"  {memory:6.0f} MB",
        flush=True,
    )


def ridge_textbook(
    p: np.ndarray, y: np.ndarray, kind: str, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return risks and test estimates (ridges, folds), with the authors' split and folds.

    kkr uses one eigendecomposition per fold and n x n products per ridge. ukkr solves one linear
    system per ridge and fold.
    """
    n = len(p)
    rest_n = int(0.8 * n)
    order = np.random.RandomState(0).permutation(n)
    rest, test = order[:rest_n], order[rest_n:]
    fold = np.repeat(np.arange(5), [len(part) for part in np.array_split(np.arange(rest_n), 5)])
    u = residuals(p, y)
    risks, tests = np.empty((2, len(GRIDS[kind, p.ndim == 1]), 5))
    for j in range(5):
        train, held_out = rest[fold != j], rest[fold == j]
        matrix = rbf(p[train], p[train], gamma)
        cross = [rbf(p[rows], p[train], gamma) for rows in (held_out, test)]
        if kind == "kkr":
            values, vectors = np.linalg.eigh(matrix)
            values = np.maximum(values, 0.0)
            target = vectors.T @ u[train] @ u[train].T @ vectors
            cross = [a @ vectors for a in cross]
        for i, ridge in enumerate(GRIDS[kind, p.ndim == 1]):
            c = ridge * len(train) ** POWERS[kind]
            if kind == "kkr":
                middle = target / (np.outer(values, values) + c)
                h = [a @ middle @ a.T for a in cross]
            else:
                g = np.linalg.solve(matrix + c * np.eye(len(train)), u[train])
                h = [(a @ g) @ (a @ g).T for a in cross]
            error = (u[held_out] @ u[held_out].T - h[0]) ** 2
            m = len(held_out)
            risks[i, j] = (error.sum() - error.trace()) / (m * (m - 1))
            tests[i, j] = h[1].diagonal().mean()
    return risks, tests


def kernel_textbook(g: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Compute KL by the Dirichlet kernel in direct form, from n x n matrices of logarithms.

    `g` (n, k) are predictions and `y` (n,) are labels.
    """
    n, k = g.shape
    log = np.log(g) @ (g / bandwidth).T
    log += gammaln((g / bandwidth + 1).sum(axis=1)) - gammaln(g / bandwidth + 1).sum(axis=1)
    np.fill_diagonal(log, -np.inf)
    with np.errstate(divide="ignore"):
        hits = np.log((y[:, None] == np.arange(k)).astype(float))
    numerator = np.column_stack([logsumexp(log + hits[:, j], axis=1) for j in range(k)])
    r = np.exp(numerator - logsumexp(log, axis=1)[:, None])
    return float((xlogy(r, r) - r * np.log(g)).sum(axis=1).mean() + (g - r).sum(axis=1).mean())


def confidences(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw top-label predictions and outcomes of a Dirichlet problem with ten classes."""
    return reduce(
        *load_problem("dirichlet10_overconfident").sample(n, np.random.default_rng(0)), "top_label"
    )


def main(quick: bool) -> None:
    columns = (
        f"{'n':>7}{'ours':>10}{'textbook':>10}{'ratio':>8}  {'authors':>17}  {'gap':>8}  memory"
    )
    print(f"{'CPU seconds, one thread':<34}{columns}")
    for kind in ("kkr", "ukkr"):
        for n in (1000, 2000):
            p, y = confidences(n)
            tuned = gruber2025.Tuned(KernelRidge(kind, gamma=1.0))
            ours, (_, risks, tests, _) = seconds(lambda t=tuned, p=p, y=y: t.path(p, y), 3)
            textbook, (slow_risks, slow_tests) = seconds(
                lambda p=p, y=y, kind=kind: ridge_textbook(p, y, kind, 1.0)
            )
            # ridges below 1e-9 are left out: there, rounding of the kernel matrix decides both
            # results
            used = np.array(GRIDS[kind, True]) >= 1e-9
            gap = max(
                np.abs(risks / slow_risks - 1)[used].max(),
                np.abs(tests / slow_tests - 1)[used].max(),
            )
            show(kind, n, ours, textbook, gap)
        for n in (8000, 50_000):
            p, y = confidences(n)
            show(
                kind,
                n,
                seconds(
                    lambda k=kind, p=p, y=y: load_estimator(f"tuned_{k}")(
                        p, y, np.random.default_rng(0)
                    )
                )[0],
            )
    low_rank()
    for n in (1000, 2000, 5000)[: 2 if quick else 3]:
        p, y = load_problem("simplex10_popordanoska2024").sample(n, np.random.default_rng(0))
        q, hits = reduce(p, y, "classwise")
        estimator = popordanoska2024.DirichletKernel("direct")
        ours, estimates = seconds(
            lambda e=estimator, q=q, hits=hits: apply(e, q, hits, "classwise", None), 2
        )
        g = np.clip(p, 1e-7, 1 - 1e-7)

        def textbook(g: np.ndarray = g, y: np.ndarray = y) -> float:
            pairs = [np.clip(np.column_stack([1 - c, c]), 1e-7, 1 - 1e-7) for c in g.T]
            hits = [(y == j).astype(int) for j in range(len(pairs))]
            return np.mean([kernel_textbook(*pair, 0.02) for pair in zip(pairs, hits)])

        slow, value = seconds(textbook)
        show("class-wise KL, k = 10", n, ours, slow, abs(estimates["kl"].value / value - 1))
    p, y = load_problem("dirichlet10_overconfident").sample(10_000, np.random.default_rng(0))
    show(
        "Dirichlet kernel, k = 10",
        10_000,
        seconds(lambda: load_estimator("kde", bandwidth=0.02)(p, y), 2)[0],
    )
    show(
        "the same, 55 bandwidths by likelihood",
        10_000,
        seconds(lambda: load_estimator("kde_likelihood")(p, y))[0],
    )
    show(
        "the same, 20 by risk in five folds",
        10_000,
        seconds(lambda: load_estimator("kde")(p, y, np.random.default_rng(0)))[0],
    )
    if not quick:
        for kind in ("kkr", "ukkr"):
            ours = seconds(
                lambda k=kind: load_estimator(f"tuned_{k}")(p, y, np.random.default_rng(0))
            )[0]
            show(f"canonical {kind}, k = 10", 10_000, ours)


def low_rank() -> None:
    """Print the rank, residual trace and largest entry error of low-rank kernel matrices."""
    vectors = load_problem("dirichlet10_overconfident").sample(2000, np.random.default_rng(0))[0]
    for name, p in (("scalars", confidences(2000)[0]), ("k = 10", vectors)):
        for tolerance in (1e-6, 1e-10, 1e-14):
            low = pivoted_cholesky(p, 0.5, tolerance)
            error = np.abs(rbf(p, p, 0.5) - low.factor @ low.factor.T).max()
            print(
                f"  RBF matrix of {name}, n = 2,000, tolerance {tolerance:g}: "
                f"rank {low.factor.shape[1]}, residual trace {low.residual:.1e}, "
                f"largest error of an entry {error:.1e}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    main(parser.parse_args().quick)
