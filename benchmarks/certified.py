"""Measure the cost of certified bounds: CPU seconds on one thread, and peak memory.

    python benchmarks/certified.py           n = 10^5, 10^6 and 10^7, about a minute
    python benchmarks/certified.py --quick   without n = 10^7

CPU seconds are the smaller of two runs. A row "after one sort" times a bound of scores that are
already sorted. A row "estimator" times a full call, including input checks and the sort.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

from harness import load_estimator, load_problem  # noqa: E402
from harness.estimators.certified import TVKfold  # noqa: E402
from harness.estimators.certified import denoising_kernels as tv  # noqa: E402
from harness.estimators.certified.base import sort_by_score  # noqa: E402
from harness.estimators.certified.denoising import tv_lambda  # noqa: E402

IDS = (
    "tv_kfold", "tv_insample", "bv_window", "nw_kfold_first_order", "nw_kfold", "nw_jensen",
    "nw_jensen_histogram", "lip_bkt", "lip_bkt_jensen", "lower_preq", "certified_interval",
    "binned15",
)  # fmt: skip


def seconds(work: Callable[[], Any], times: int = 2) -> float:
    """Return the smallest CPU time, in seconds, of `times` calls."""
    timings = []
    for _ in range(times):
        start = time.process_time()
        work()
        timings.append(time.process_time() - start)
    return min(timings)


def denoised(scores: np.ndarray, labels: np.ndarray) -> Any:
    """Denoise all labels by total variation, with the penalty that the bound uses."""
    n = len(scores)
    starts, sums = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    count, groups = tv.runs(scores, labels, n, starts, sums)
    tv.denoise_runs(starts, sums, n * tv_lambda(n, groups, 0.045), count)


def call(estimator: Any, p: np.ndarray, y: np.ndarray) -> Any:
    return estimator(p, y, np.random.default_rng(2))


def show(task: str, n: int, cpu: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{task:<44}{n:>12,}{cpu:>10.4f}{cpu / n * 1e9:>10.1f} ns{peak:>8.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    sizes = (100_000, 1_000_000) if parser.parse_args().quick else (100_000, 1_000_000, 10_000_000)
    problem = load_problem("score_sine_perturbed")
    for name in IDS:  # compile, or read the compilation cache, before anything is timed
        load_estimator(name)(
            *problem.sample(100, np.random.default_rng(0)), np.random.default_rng(0)
        )
    print(f"{'task':<44}{'n':>12}{'CPU s':>10}{'per point':>13}{'peak':>8}")
    for n in sizes:
        show(
            "a sample of score_sine_perturbed",
            n,
            seconds(lambda n=n: problem.sample(n, np.random.default_rng(0)), 1),
        )
        p, y = problem.sample(n, np.random.default_rng(0))
        show("sort of scores and labels", n, seconds(partial(sort_by_score, p, y)))
        scores, labels = sort_by_score(p, y)
        show(
            "total-variation denoising after one sort",
            n,
            seconds(partial(denoised, scores, labels)),
        )
        fold = np.random.default_rng(1).integers(0, 5, n, dtype=np.uint8)
        show(
            "tv_kfold after one sort",
            n,
            seconds(partial(TVKfold().evaluate_sorted, scores, labels, fold, 1.0)),
        )
        estimator = load_estimator("nw_kfold")
        show(
            "nw_kfold after one sort",
            n,
            seconds(partial(estimator.evaluate_sorted, scores, labels, fold, 1 / 64)),
        )
        for name in IDS:
            estimator = load_estimator(name)
            show(f"estimator {name}", n, seconds(partial(call, estimator, p, y)))


if __name__ == "__main__":
    main()
