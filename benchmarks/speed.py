"""Measure the overhead of the harness: CPU seconds of this process, on one thread.

    python benchmarks/speed.py

A short measurement is the best of three. Shared machines are noisy, so compare numbers only within
one run. benchmarks/peers.py compares our estimators with other libraries.
"""

import contextlib
import io
import os
import resource
import tempfile
import time

import numpy as np

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from harness import load_estimator, load_problem  # noqa: E402
from harness.commands.app import main  # noqa: E402
from harness.configure.compose import compose  # noqa: E402
from harness.execute.pending import pending  # noqa: E402
from harness.plan.plan import plan  # noqa: E402
from harness.workflow.experiment import Experiment  # noqa: E402


def cpu(work, times=3):
    """Return the smallest CPU time of `times` calls, in seconds, and the last result."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def show(what, seconds, target=None, unit="s"):
    print(
        f"{what:<66}{seconds:>10.4f} {unit}" + (f"   target {target}" if target else ""), flush=True
    )


def estimators():
    problem = load_problem("beta_overconfident")
    p, y = problem.sample(1_000_000, np.random.default_rng(0))
    for name in ("binned15", "binned15_mass", "debiased15"):
        estimator = load_estimator(name)
        show(f"{name}, n = 1,000,000", cpu(lambda e=estimator: e(p, y, None))[0], "0.1")
    p, y = p[:100_000], y[:100_000]
    for name in ("isotonic", "temperature", "nadaraya_watson", "partition"):
        estimator = load_estimator(f"variational_{name}")
        seconds, _ = cpu(lambda e=estimator: e(p, y, np.random.default_rng(0)))
        show(
            f"variational_{name}, 5 folds, all losses, n = 100,000",
            seconds,
            "1" if name == "isotonic" else None,
        )
    p, y = p[:10_000], y[:10_000]
    seconds, _ = cpu(
        lambda: load_estimator("variational_temperature")(p, y, np.random.default_rng(0))
    )
    show("variational_temperature, 5 folds, all losses, n = 10,000", seconds, "0.02")
    p, y = load_problem("dirichlet10_overconfident").sample(10_000, np.random.default_rng(0))
    for name, target in (("sms", "0.5"), ("lightgbm_ws", None), ("catboost_ws", None)):
        estimator = load_estimator(f"variational_{name}")
        seconds, _ = cpu(
            lambda e=estimator: e(p, y, np.random.default_rng(0), notion="canonical"), times=1
        )
        show(f"variational_{name}, 5 folds, all losses, k = 10, n = 10,000", seconds, target)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        show("  largest memory of this process so far", peak, "1024", "MB")


def cells(folder):
    chosen = ["estimator=[binned15,binned15_mass]", "n=[200,1000]", "engine=serial"]
    problems = "problem=[beta_overconfident,beta_wavy,beta_mixed,beta_shifted]"
    Experiment.of(["problem=beta_wavy", *chosen, "reps=2", f"out={folder}/warm"]).compute(
        quiet=True
    )
    seconds, counts = cpu(
        lambda: Experiment.of([problems, *chosen, "reps=1000", f"out={folder}/a"]).compute(
            quiet=True
        ),
        times=1,
    )
    show(f"{counts['todo']:,} binned cells, records included", seconds, "10")
    frame = Experiment.of([problems, *chosen, "reps=1000", f"out={folder}/a"]).records.read()
    inside = frame.drop_duplicates("key")["cpu_seconds"].sum()
    show("  overhead per cell beside the estimator", (seconds - inside) / counts["todo"], "0.001")

    def full_plan():
        parts = plan(compose([problems, *chosen, "reps=6250", f"out={folder}/a"]))
        return pending(
            parts, Experiment.of([problems, *chosen, "reps=1", f"out={folder}/a"]).records.out
        ).tally.counts

    seconds, counts = cpu(full_plan)
    show(f"plan of {counts['cells']:,} cells, {counts['done']:,} of them done", seconds, "3")


def second_run(folder):
    command = ["experiment=berta2026_fig1", f"out={folder}/b"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(command)
        start = time.perf_counter()
        main(command)
    show("second run of finished berta2026_fig1 (wall)", time.perf_counter() - start, "3")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        estimators()
        cells(temporary)
        second_run(temporary)
