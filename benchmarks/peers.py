"""Compare our estimators with other libraries and with textbook formulas: one run, one table.

    python benchmarks/peers.py                   writes benchmarks/peers.csv and peers.json
    python benchmarks/peers.py --only binned     prints cases with this prefix, writes nothing

A run takes some CPU minutes. The other libraries are those of the extra `peers`, called as
`peer_*` estimators (harness.estimators.peers). Libraries that are not installed are left out. If no
library has a quantity, "formula" is its textbook form in numpy: an n x n kernel matrix, a
decomposition per fold, or a linear system per ridge. CKCE is compared with our exact form by
Cholesky, which "ours" also uses where it is cheaper.

Every call runs in its own process, after a small call of the same kind. The process is forked from
a process that has imported all libraries and computed nothing. Calls of ours and of other libraries
alternate in five rounds. CPU seconds include child processes and use one thread. They are the
median of the rounds, and in a round the smallest of three calls. A call that takes more than a
second is made once. Memory is the peak above the resident memory before the call.
"""

import argparse
import contextlib
import csv
import importlib
import json
import os
import platform
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from harness.experiments.gruber2025 import authors as gruber2025  # noqa: E402
from harness.experiments.popordanoska2024 import authors as popordanoska2024  # noqa: E402
from kernels import kernel_textbook, ridge_textbook  # noqa: E402
from peak_memory import measure_peak  # noqa: E402
from scipy.special import gammaln  # noqa: E402

from harness import load_estimator  # noqa: E402
from harness.estimators import peers  # noqa: E402
from harness.estimators.application import apply  # noqa: E402
from harness.estimators.kernel_ridge import KernelRidge  # noqa: E402
from harness.math.notions import reduce  # noqa: E402
from harness.records.provenance import git_state  # noqa: E402

Call = Callable[[np.ndarray, np.ndarray, str], float]  # (p, y, notion) -> estimate

HERE = Path(__file__).resolve().parent
COLUMNS = (
    "what", "notion", "who", "n", "k", "cpu_seconds", "peak_mb", "value", "difference",
    "exponent_n", "exponent_k", "reason",
)  # fmt: skip
ROUNDS = 5
LONG = 1.0  # CPU seconds; a longer call is made once
LIMIT = 20.0  # CPU seconds; a call that is expected to take longer is not started
BANDWIDTH = 0.02
MODULES = (
    "relplot", "netcal.metrics", "calibration", "torchmetrics.functional.classification",
    "probmetrics.classifiers", "probmetrics.calibrators", "probmetrics.metrics",
    "probmetrics.splitters", "catboost", "lightgbm", "sklearn.isotonic", "scipy.optimize",
    "scipy.fft",
)  # fmt: skip


def predictions(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n overconfident predictions of k classes, and labels from their true probabilities C.

    k = 2 uses p ~ Beta(1/2, 1/2) with C = sigma(0.4 logit p + 0.3). k > 2 uses p ~ Dirichlet(1/2,
    ..., 1/2) with C proportional to p^0.3.
    """
    rng = np.random.default_rng(n + k)
    if k == 2:
        p = np.clip(rng.beta(0.5, 0.5, n), 1e-12, 1.0 - 1e-12)
        c = 1.0 / (1.0 + np.exp(-(0.4 * np.log(p / (1.0 - p)) + 0.3)))
        return p, (rng.random(n) < c).astype(np.int64)
    p = rng.dirichlet(np.full(k, 0.5), n)
    c = p**0.3
    return p, (rng.random(n)[:, None] > (c / c.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(
        axis=1
    )


def by_id(name: str, estimand: str, **settings: Any) -> Call:
    """Return a function (p, y, notion) that computes the estimand by the estimator with this id."""
    estimator = load_estimator(name, **settings)

    def call(p: np.ndarray, y: np.ndarray, notion: str) -> float:
        return apply(estimator, p, y, notion, np.random.default_rng(0))[estimand].value

    call.unavailable = getattr(estimator, "unavailable", None)
    return call


def trees_of_probmetrics(name: str) -> Call:
    """Return a function that computes l1 by the warm-started trees of probmetrics in five folds.

    `name` is a class of probmetrics.classifiers. For binary p, probmetrics sums the error over two
    columns, so its result is divided by two.
    """

    def call(p: np.ndarray, y: np.ndarray, notion: str) -> float:
        import torch
        from catboost import CatBoostClassifier
        from probmetrics import classifiers
        from probmetrics.distributions import CategoricalDirac, CategoricalProbs
        from probmetrics.metrics import (
            BrierLoss,
            CombinedMetrics,
            LogLoss,
            MetricsWithCalibration,
            ProperLpLoss,
        )
        from probmetrics.splitters import CVSplitter

        # with more threads, a later fork of CatBoost's thread pool can block for ever
        predict = CatBoostClassifier.predict
        CatBoostClassifier.predict = lambda self, *a, **settings: predict(
            self, *a, **{**settings, "thread_count": 1}
        )
        torch.set_num_threads(1)
        losses = [ProperLpLoss(order, binary_as_multiclass=True) for order in (1, 2, float("inf"))]
        losses = CombinedMetrics([*losses, BrierLoss(), LogLoss()])
        metrics = MetricsWithCalibration(
            losses, getattr(classifiers, name)(), CVSplitter(5), cal_name="own", random_state=0
        )
        vectors = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        try:
            labels, probabilities = (
                CategoricalDirac(torch.as_tensor(y), vectors.shape[1]),
                CategoricalProbs(torch.as_tensor(vectors)),
            )
            scores = metrics.compute_all(labels, probabilities)
        finally:
            CatBoostClassifier.predict = predict
        value = next(scores[key] for key in scores if key.startswith("calib-err_proper-L1"))
        return float(value) / (2.0 if p.ndim == 1 else 1.0)

    call.unavailable = None if peers.installed("probmetrics") else "probmetrics is not installed"
    return call


def classwise_kl(p: np.ndarray, y: np.ndarray, notion: str) -> float:
    """Compute the KL of each class by an n x n kernel matrix, and return the mean over classes."""
    columns = [np.clip(np.column_stack([1.0 - c, c]), 1e-7, 1.0 - 1e-7) for c in p.T]
    return float(np.mean([kernel_textbook(g, y[:, j], BANDWIDTH) for j, g in enumerate(columns)]))


def ridge(kind: str, textbook: bool) -> Call:
    """Return a function that computes the smallest risk over the ridge grid.

    The risk is a mean over five folds. `textbook` chooses the textbook form instead of ours.
    """

    def call(p: np.ndarray, y: np.ndarray, notion: str) -> float:
        if textbook:
            return float(ridge_textbook(p, y, kind, 1.0)[0].mean(axis=1).min())
        return float(
            gruber2025.Tuned(KernelRidge(kind, gamma=1.0)).path(p, y)[1].mean(axis=1).min()
        )

    return call


def kernel_l1(p: np.ndarray, y: np.ndarray, notion: str) -> float:
    """Compute l1 of the leave-one-out ratio of Dirichlet kernels, by an n x n matrix."""
    g = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    g = np.clip(g, 1e-7, 1.0 - 1e-7)
    log = np.log(g) @ (g / BANDWIDTH).T
    log += gammaln((g / BANDWIDTH + 1.0).sum(axis=1)) - gammaln(g / BANDWIDTH + 1.0).sum(axis=1)
    np.fill_diagonal(log, -np.inf)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    ratio = weight @ (y[:, None] == np.arange(g.shape[1])) / weight.sum(axis=1, keepdims=True)
    return float(np.abs(ratio - g).sum(axis=1).mean() / (2.0 if p.ndim == 1 else 1.0))


def by_estimator(estimator: Any, estimand: str) -> Call:
    """Return a function (p, y, notion) that computes the estimand by this estimator."""
    return lambda p, y, notion: (
        apply(estimator, p, y, notion, np.random.default_rng(0))[estimand].value
    )


def cases() -> list[tuple[Any, ...]]:
    """Return all cases that are measured.

    A case is a tuple of:

    * its name;
    * {"ours" or library: function that computes the quantity};
    * the scalar notion, and the sample sizes n that are measured under it;
    * the vector notion, and (n, numbers of classes k) that are measured under it.
    """
    large, middle, small = (
        (10_000, 100_000, 1_000_000),
        (1_000, 10_000, 100_000),
        (500, 1_000, 2_000),
    )
    vectors = (3, 10, 30)

    def libraries(estimand: str, **ids: str) -> dict[str, Call]:
        return {who.replace("_", "-"): by_id(f"peer_{name}", estimand) for who, name in ids.items()}

    ece = libraries(
        "l1",
        relplot="relplot_ece15",
        netcal="netcal_ece15",
        torchmetrics="torchmetrics_ece15",
        uncertainty_calibration="uncertainty_calibration_ece15",
        probmetrics="probmetrics_ece15",
    )
    smooth = libraries("smooth_ece", relplot="relplot_smece", probmetrics="probmetrics_smece")
    debiased = libraries("l2_squared", uncertainty_calibration="uncertainty_calibration_debiased")
    isotonic = libraries("l2_squared", probmetrics="probmetrics_isotonic_mix")
    temperature = libraries("l2_squared", probmetrics="probmetrics_ts_mix")
    mass = libraries("l1", netcal="netcal_ece15_mass")
    return [
        (
            "binned, equal width",
            {"ours": by_id("binned15", "l1"), **ece},
            "binary",
            large,
            "classwise",
            (20_000, vectors),
        ),
        (
            "binned, equal mass",
            {"ours": by_id("binned15_mass", "l1"), **mass},
            "binary",
            large,
            "classwise",
            (20_000, vectors),
        ),
        (
            "debiased",
            {"ours": by_id("debiased15", "l2_squared"), **debiased},
            "binary",
            large,
            "classwise",
            (20_000, vectors),
        ),
        (
            "smooth ECE",
            {"ours": by_id("smooth_ece", "smooth_ece"), **smooth},
            "binary",
            large,
            "classwise",
            (20_000, vectors),
        ),
        (
            "isotonic, 5 folds",
            {"ours": by_id("variational_isotonic", "l2_squared"), **isotonic},
            "binary",
            middle,
            "canonical",
            (2_000, vectors),
        ),
        (
            "temperature, 5 folds",
            {"ours": by_id("variational_temperature", "l2_squared"), **temperature},
            "binary",
            middle,
            "canonical",
            (2_000, vectors),
        ),
        (
            "CatBoost, warm start, 5 folds",
            {
                "ours": by_id("variational_catboost_ws", "l1"),
                "probmetrics": trees_of_probmetrics("WS_CatboostClassifier"),
            },
            "binary",
            (1_000, 4_000),
            "canonical",
            (1_000, (3, 10)),
        ),
        (
            "LightGBM, warm start, 5 folds",
            {
                "ours": by_id("variational_lightgbm_ws", "l1"),
                "probmetrics": trees_of_probmetrics("WS_LGBMClassifier"),
            },
            "binary",
            (1_000, 4_000),
            "canonical",
            (1_000, (3, 10)),
        ),
        (
            "class-wise KL",
            {
                "ours": by_estimator(popordanoska2024.DirichletKernel("direct"), "kl"),
                "formula": classwise_kl,
            },
            "classwise",
            small,
            "classwise",
            (500, vectors),
        ),
        (
            "kernel ridge, kkr",
            {"ours": ridge("kkr", False), "formula": ridge("kkr", True)},
            "top_label",
            small,
            "canonical",
            (500, vectors),
        ),
        (
            "kernel ridge, ukkr",
            {"ours": ridge("ukkr", False), "formula": ridge("ukkr", True)},
            "top_label",
            small,
            "canonical",
            (500, vectors),
        ),
        (
            "CKCE",
            {"ours": by_id("ckce", "ckce"), "Cholesky": by_id("ckce", "ckce", method="cholesky")},
            "top_label",
            small,
            "canonical",
            (1_000, vectors),
        ),
        (
            "kde, bandwidth 0.02",
            {"ours": by_id("kde", "l1", bandwidth=BANDWIDTH), "formula": kernel_l1},
            "binary",
            small,
            "canonical",
            (500, vectors),
        ),
    ]


def sample(n: int, k: int, notion: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw n predictions and labels of k classes, and reduce them to a notion."""
    p, y = predictions(n, k)
    if notion == "classwise":
        q, hits = reduce(p, y, notion)
        return q, hits
    return reduce(p, y, notion)


def cpu_seconds() -> float:
    """Return the CPU time of this process and its finished children."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def measure(call: Call, n: int, k: int, notion: str) -> dict[str, Any]:
    """Measure a call in a forked process.

    Return {cpu_seconds, peak_mb, value}, or {reason} if the call failed.
    """
    p, y = sample(n, k, notion)
    few = sample(60, k, notion)
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"

        def work() -> None:
            os.chdir(folder)  # catboost writes files into the current folder
            warnings.simplefilter("ignore")
            least, value = np.inf, None
            for _ in range(3):
                start = cpu_seconds()
                value = call(p, y, notion)
                least = min(least, cpu_seconds() - start)
                if least > LONG:
                    break
            answer.write_text(json.dumps({"cpu_seconds": least, "value": float(value)}))

        peak = measure_peak(work, 3 * LIMIT, first=lambda: call(*few, notion))
        if not answer.is_file():
            return {"reason": peak.reason or "it returned nothing"}
        return {**json.loads(answer.read_text()), "peak_mb": peak.mb}


def rounds(calls: dict[str, Call], n: int, k: int, notion: str) -> dict[str, dict[str, Any]]:
    """Measure calls in turn, and return the median of the rounds for each; long calls run once."""
    measured: dict[str, list[dict[str, Any]]] = {who: [] for who in calls}
    for _ in range(ROUNDS):
        for who, call in calls.items():
            if all(answer.get("cpu_seconds", np.inf) <= LONG for answer in measured[who]):
                measured[who].append(measure(call, n, k, notion))
    return {who: median_of(answers) for who, answers in measured.items()}


def median_of(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first answer with the medians of CPU seconds and memory, or the failed answer."""
    failed = [answer for answer in answers if "cpu_seconds" not in answer]
    if failed:
        return failed[0]
    medians = {
        name: float(np.median([answer[name] or 0.0 for answer in answers]))
        for name in ("cpu_seconds", "peak_mb")
    }
    return answers[0] | medians


def exponent(rows: list[dict[str, Any]], name: str) -> float | None:
    """Return the exponent of n or k (`name`) in CPU seconds, or None for a single size.

    It is the least squares slope of log CPU seconds against the logarithm of n or k.
    """
    x, y = (np.log([row[column] for row in rows]) for column in (name, "cpu_seconds"))
    return float(np.polyfit(x, y, 1)[0]) if len(set(x)) > 1 else None


def case_rows(
    what: str,
    calls: dict[str, Call],
    scalar: str,
    sizes: Sequence[int],
    vector: str,
    classes: tuple[int, Sequence[int]],
) -> list[dict[str, Any]]:
    """Measure one case and return its rows. Ours and the other libraries take turns at each n."""
    first = 2 if scalar == "binary" else 10
    places = [(scalar, n, first, "n") for n in sizes] + [
        (vector, classes[0], k, "k") for k in classes[1]
    ]
    rows, last = [], {}
    for notion, n, k, along in places:
        value = None
        able = [who for who, call in calls.items() if not getattr(call, "unavailable", None)]
        expected = {
            who: last[who, along][1] * n * k / last[who, along][0]
            for who in able
            if (who, along) in last
        }
        answers = rounds(
            {who: calls[who] for who in able if expected.get(who, 0.0) <= LIMIT}, n, k, notion
        )
        for who in able:
            row = {"what": what, "notion": notion, "who": who, "n": n, "k": k, "along": along}
            answer = answers.get(who, {"reason": f"above {LIMIT:g} CPU seconds"})
            row |= answer
            if "cpu_seconds" in answer:
                last[who, along] = (n * k, answer["cpu_seconds"])
                value = answer["value"] if who == "ours" else value
                row["difference"] = (
                    None if who == "ours" or value is None else abs(answer["value"] - value)
                )
            rows.append(row)
            text = row.get("reason", "")
            if "value" in row:
                text = (
                    f"{row['cpu_seconds']:>10.4f} s {row['peak_mb'] or 0:>8.1f} MB "
                    f"{row['value']:>12.6g} {row['difference'] or 0:.1e}"
                )
            print(f"{what:<32}{who:<26}{notion:<11}{n:>9,}{k:>4}  {text}", flush=True)
    for who in calls:
        for along in ("n", "k"):
            mine = [
                row
                for row in rows
                if row["who"] == who and row["along"] == along and "cpu_seconds" in row
            ]
            slope = exponent(mine, along)
            for row in rows:
                if row["who"] == who:
                    row[f"exponent_{along}"] = slope
    return rows


def machine() -> dict[str, Any]:
    """Return the commit, the processor, the load and the versions of the packages."""
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    ]
    packages = (
        "numpy", "scipy", "scikit-learn", "catboost", "lightgbm", "torch", "relplot", "netcal",
        "uncertainty-calibration", "torchmetrics", "probmetrics",
    )  # fmt: skip
    return {
        "commit": str(git_state().get("commit", ""))[:8],
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1),
        "date": time.strftime("%Y-%m-%d"),
        "packages": {name: peers.installed(name) for name in packages},
    }


def format_row(row: dict[str, Any]) -> list[str]:
    """Return the entries of a row as texts."""
    entries = ("" if row.get(name) is None else row[name] for name in COLUMNS)
    return [f"{entry:.6g}" if isinstance(entry, float) else str(entry) for entry in entries]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for module in MODULES:  # so that forked processes need not import these modules
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    about, start = machine(), cpu_seconds()
    rows = [
        row for case in cases() if case[0].startswith(arguments.only) for row in case_rows(*case)
    ]
    spent, load = cpu_seconds() - start, os.getloadavg()[0]
    print(
        f"{spent:.0f} CPU seconds in all, load {about['load_before']} before and {load:.1f} after"
    )
    if arguments.only:
        return
    with (HERE / "peers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([COLUMNS, *map(format_row, rows)])
    about |= {"load_after": round(load, 1), "cpu_seconds": round(spent)}
    (HERE / "peers.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
