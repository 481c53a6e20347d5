"""Time the kernel calibration errors against a Cholesky decomposition and textbook formulas.

    python benchmarks/kernel_errors.py           1.5 minutes, 2.5 GB
    python benchmarks/kernel_errors.py --quick   stops at n = 2,000

Predictions f are drawn from Dirichlet(0.1) with ten classes, and labels y from f. The case "true"
uses f. The case "over" uses overconfident predictions proportional to f^2. CKCE by low rank is
compared with the Cholesky decomposition of the n x n matrix, and SKCE in tiles with n x n matrices.
All timings are on one thread. The columns are:

    memory        peak memory of the process so far
    gap           relative difference of the two results
    bound         bound on the relative error that the low rank reports
    noise floor   expectation of CKCE for calibrated predictions
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

from harness.estimators import CKCE, MMCE, SKCE, UCME, SimplexECE  # noqa: E402
from harness.math.kernels import median_distance  # noqa: E402


def draw(n: int, classes: int = 10) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return {case: (predictions, labels)} for the cases "true" and "over" of n rows."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(classes, 0.1), n)
    y = np.minimum((p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), classes - 1)
    return {"true": (p, y), "over": (p**2 / (p**2).sum(axis=1, keepdims=True), y)}


def seconds(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the smallest CPU time of `repeats` calls, in seconds, and the last result."""
    timings = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        timings.append(time.process_time() - start)
    return min(timings), result


def dense_skce(q: np.ndarray, y: np.ndarray, gamma: float) -> float:
    """Compute the unbiased SKCE from two n x n matrices: kernels, and products of residuals."""
    r = np.eye(q.shape[1])[y] - q
    squares = (q * q).sum(axis=1)
    products = q @ q.T
    h = products + np.exp(
        -np.maximum(squares[:, None] + squares - 2 * products, 0.0) / (2 * gamma**2)
    )
    h *= r @ r.T
    return (h.sum() - h.trace()) / (len(q) * (len(q) - 1))


def show(
    case: str,
    n: int,
    ours: float,
    other: float | None = None,
    gap: float | None = None,
    more: str = "",
) -> None:
    """Print one row of the table."""
    compared = f"{other:9.2f}{other / ours:6.1f}x" if other else " " * 16
    difference = "" if gap is None else f"{gap:.0e}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{case:<34}{n:>8,}{ours:>9.3f}{compared}{difference:>7}  {memory:5.0f} MB  {more}",
        flush=True,
    )


def main(quick: bool) -> None:
    seconds(lambda: CKCE()(*draw(600)["true"]))
    columns = f"{'n':>8}{'ours':>9}{'other':>9}{'ratio':>7}{'gap':>7}   memory"
    print(f"{'CPU seconds, one thread':<34}{columns}")
    for n in (500, 1000, 2000, 10_000)[: 3 if quick else 4]:
        for name, (q, y) in draw(n).items():
            repeats = 1 if n > 2000 else 3
            ours, low = seconds(lambda q=q, y=y: CKCE(method="low_rank")(q, y)["ckce"], 3)
            other, exact = seconds(lambda q=q, y=y: CKCE(method="cholesky")(q, y)["ckce"], repeats)
            parts = low.diagnostics
            more = (
                f"value {low.value:.3g}, noise floor {parts['noise_floor']:.2g}; "
                f"rank {parts['rank']:.0f}, residual {parts['residual']:.0e}, "
                f"products {parts['products']:.0f}, bound {parts['error'] / low.value:.0e}"
            )
            show(f"CKCE, {name}", n, ours, other, abs(low.value / exact.value - 1), more)
    for n in (2000, 10_000)[: 1 if quick else 2]:
        q, y = draw(n)["over"]
        ours, estimate = seconds(lambda q=q, y=y: SKCE()(q, y)["skce"], 3)
        other, dense = seconds(
            lambda q=q, y=y, g=estimate.diagnostics["gamma"]: dense_skce(q, y, g)
        )
        show("SKCE, over", n, ours, other, abs(estimate.value / dense - 1))
    for n in (10_000,) if quick else (10_000, 40_000):
        q, y = draw(n)["over"]
        top, right = q.max(axis=1), (q.argmax(axis=1) == y).astype(int)
        show("median distance", n, seconds(lambda q=q: median_distance(q), 3)[0])
        for case, estimator in (
            ("CKCE", CKCE()),
            ("CKCE, 100 Fourier features", CKCE(method="features")),
            ("SKCE", SKCE()),
            ("SKCE in pairs", SKCE(form="block")),
            ("UCME", UCME()),
            ("binned on the simplex", SimplexECE()),
        ):
            show(case, n, seconds(lambda e=estimator, q=q, y=y: e(q, y, 0))[0])
        for case, estimator in (
            ("CKCE of confidences", CKCE()),
            ("SKCE of confidences", SKCE()),
            ("MMCE", MMCE()),
        ):
            show(case, n, seconds(lambda e=estimator, p=top, y=right: e(p, y, 0), 2)[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    main(parser.parse_args().quick)
