"""Our warm-started trees beside those of the authors' library (probmetrics), in pairs: ours, theirs, ours, theirs ...

    python benchmarks/peers.py --peer PYTHON [--pairs 3] [--sizes 1000,10000] [--classes 2,3,10]

PYTHON is the interpreter of an environment with probmetrics 1.3, numba, lightgbm and catboost (the two cannot share one:
their pins differ). Both sides compute one five-fold estimate of all their losses on the same predictions. CPU seconds include
child processes (the library forks a pool of 8 within every fit). Its predictions are made to use one thread: with more, a
later fork of that pool can block for ever.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

MODELS = {"CatBoost": "variational_catboost_ws", "LightGBM": "variational_lightgbm_ws"}
TARGET = 0.25  # of their CPU time


def predictions(n, k):
    """Over-confident predictions and labels: Beta(1/2, 1/2) with C = sigma(0.4 logit p + 0.3), or Dirichlet(1/2), C ~ p^0.3."""
    rng = np.random.default_rng(n + k)
    if k == 2:
        p = rng.beta(0.5, 0.5, n)
        c = 1.0 / (1.0 + np.exp(-(0.4 * np.log(p / (1.0 - p)) + 0.3)))
        return p, (rng.random(n) < c).astype(np.int64)
    p = rng.dirichlet(np.full(k, 0.5), n)
    c = p**0.3
    return p, (rng.random(n)[:, None] > (c / c.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)


def cpu_seconds():
    """CPU time of this process and its finished children."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def theirs(n, k, model, seed):
    """One estimate by the library; {"cpu": seconds, "l1": value}. Runs in the peer's interpreter."""
    import torch
    from probmetrics.classifiers import WS_CatboostClassifier, WS_LGBMClassifier
    from probmetrics.distributions import CategoricalDirac, CategoricalProbs
    from probmetrics.metrics import BrierLoss, CombinedMetrics, LogLoss, MetricsWithCalibration, ProperLpLoss
    from probmetrics.splitters import CVSplitter

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    p, y = predictions(n, k)
    columns = np.column_stack([1.0 - p, p]) if k == 2 else p
    kind = {"CatBoost": WS_CatboostClassifier, "LightGBM": WS_LGBMClassifier}[model]
    losses = CombinedMetrics(
        [ProperLpLoss(p, binary_as_multiclass=True) for p in (1, 2, float("inf"))] + [BrierLoss(), LogLoss()]
    )
    metrics = MetricsWithCalibration(losses, kind(), CVSplitter(5), cal_name="peer", random_state=seed)
    labels, probabilities = CategoricalDirac(torch.as_tensor(y), k), CategoricalProbs(torch.as_tensor(columns))
    start = cpu_seconds()
    found = metrics.compute_all(labels, probabilities)
    spent = cpu_seconds() - start
    name = next(key for key in found if key.startswith("calib-err_proper-L1"))
    return {"cpu": spent, "l1": float(found[name]) / (2.0 if k == 2 else 1.0)}


def ours(n, k, model, seed):
    """One estimate by the harness."""
    from harness import load_estimator
    from harness.estimators.base import apply

    p, y = predictions(n, k)
    estimator = load_estimator(MODELS[model])
    notion = "binary" if k == 2 else "canonical"
    start = cpu_seconds()
    found = apply(estimator, p, y, notion, np.random.default_rng(seed))
    return {"cpu": cpu_seconds() - start, "l1": found["l1"].value}


def peer(python, *arguments):
    """The same function in the peer's interpreter, after a first call that pays for imports."""
    command = [python, str(Path(__file__).resolve()), "--serve", json.dumps(arguments)]
    with tempfile.TemporaryDirectory() as folder:  # the library writes catboost_info where it runs
        answer = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder)
    if answer.returncode:
        raise SystemExit(f"the peer failed: {answer.stderr[-1500:]}")
    return json.loads(answer.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--classes", default="2,3,10")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        from catboost import CatBoostClassifier

        predict = CatBoostClassifier.predict
        CatBoostClassifier.predict = lambda self, *a, **named: predict(self, *a, thread_count=1, **named)
        n, k, model, seed = json.loads(given.serve)
        theirs(200, k, model, seed)
        print(json.dumps(theirs(n, k, model, seed)))
        return
    if not given.peer:
        parser.error("--peer is missing: the interpreter of an environment with probmetrics")
    print(f"{'':<26}{'ours':>10}{'theirs':>10}{'ratio':>8}   L1: ours (mean, sd over splits)   theirs", flush=True)
    for model in MODELS:
        for k in map(int, given.classes.split(",")):
            for n in map(int, given.sizes.split(",")):
                ours(200, k, model, 0)
                pairs = [(ours(n, k, model, seed), peer(given.peer, n, k, model, seed)) for seed in range(given.pairs)]
                cpu = [statistics.median(side[i]["cpu"] for side in pairs) for i in (0, 1)]
                l1 = [[side[i]["l1"] for side in pairs] for i in (0, 1)]
                spreads = [np.std(values, ddof=1) if len(values) > 1 else float("nan") for values in l1]
                print(
                    f"{model + f', k = {k}, n = {n:,}':<26}{cpu[0]:>9.2f}s{cpu[1]:>9.2f}s{cpu[0] / cpu[1]:>8.2f}   "
                    f"{np.mean(l1[0]):.4f} ± {spreads[0]:.4f}   {np.mean(l1[1]):.4f} ± {spreads[1]:.4f}"
                    f"{'' if cpu[0] <= TARGET * cpu[1] else '   above a quarter'}",
                    flush=True,
                )


if __name__ == "__main__":
    sys.exit(main())
