"""Functions for small numpy networks, and the loop that trains all missing stand-in models."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from harness.common.progress import clock
from harness.common.threads import one_thread

# one pair (W (inputs, outputs), b (outputs,)) per layer
Weights = list[tuple[np.ndarray, np.ndarray]]


def first_weights(sizes: Sequence[int], rng: np.random.Generator) -> Weights:
    """Return random weights, one pair (W (inputs, outputs), b (outputs,)) per layer.

    All are uniform in +-1 / sqrt(inputs). `sizes` are the widths of all layers, from input to
    output.
    """
    bounds = [(a, b, 1.0 / np.sqrt(a)) for a, b in zip(sizes[:-1], sizes[1:])]
    return [(rng.uniform(-c, c, (a, b)), rng.uniform(-c, c, b)) for a, b, c in bounds]


def activations(x: np.ndarray, weights: Weights) -> list[np.ndarray]:
    """Return the outputs of the hidden ReLU layers (n, width), then the logits (n, classes)."""
    outputs = []
    for w, b in weights[:-1]:
        x = np.maximum(x @ w + b, 0.0)
        outputs.append(x)
    w, b = weights[-1]
    return [*outputs, x @ w + b]


def backward(inputs: list[np.ndarray], outside: np.ndarray, weights: Weights) -> Weights:
    """Return the derivatives of a loss with respect to all weights and offsets.

    Parameters
    ----------
    inputs : list of arrays
        Inputs of each layer; the first is x.
    outside : array (n, classes)
        Derivatives of the loss with respect to the logits.
    weights : list
        Weights in the format of `first_weights`.
    """
    derivatives = []
    for (w, _), h in zip(reversed(weights), reversed(inputs)):
        derivatives.append((h.T @ outside, outside.sum(axis=0)))
        outside = (outside @ w.T) * (h > 0)
    return derivatives[::-1]


def is_made(path: Path, digest: str) -> bool:
    """Return True if an npz file exists and its array `made` equals `digest`.

    The digest stands for the origin of the file: its recipe, settings and data.
    """
    if not path.is_file():
        return False
    with np.load(path, allow_pickle=False) as arrays:
        return "made" in arrays.files and str(arrays["made"]) == digest


class TimeLeft:
    """Elapsed and remaining time of a job whose total work is known."""

    def __init__(self, total: float) -> None:
        self.total, self.done, self.start = total, 0.0, time.monotonic()

    def after(self, work: float) -> str:
        """Count `work` as done. Return a text such as '12 s elapsed, about 1 min 3 s left'."""
        self.done += work
        elapsed = time.monotonic() - self.start
        remaining = elapsed * (self.total - self.done) / self.done
        return f"{clock(elapsed)} elapsed, about {clock(remaining)} left"


def make_all(
    wanted: Sequence[Any],
    todo: Sequence[Any],
    out: Path,
    train: Callable[[Any], Any],
    report: Callable[[Any, Any], str],
    jobs: int = 1,
    work: Callable[[Any], float] = lambda item: 1.0,
    unit: str = "networks",
) -> int:
    """Train models in several processes. Print the remaining time after each model.

    Parameters
    ----------
    wanted, todo : sequences
        All models, and those that are not stored yet.
    out : path
        Folder of the files.
    train : callable
        model -> result. It runs in a worker on one thread and stores its files itself, so an
        interruption loses only unfinished models.
    report : callable
        (model, result or failure message) -> line to print. It runs in this process.
    jobs : int
        Number of processes.
    work : callable
        model -> number roughly proportional to the training time. The longest trainings start
        first, so that the workers end together.
    unit : str
        Plural noun for the models in printed lines.

    Returns
    -------
    int
        1 if any model failed, else 0.
    """
    print(
        f"  {len(wanted):,} {unit}, {len(wanted) - len(todo):,} of them stored before, into {out}",
        file=sys.stderr,
    )
    todo = sorted(todo, key=lambda item: -work(item))
    remaining, failed = TimeLeft(sum(map(work, todo))), 0
    pool = joblib.Parallel(
        n_jobs=max(1, min(jobs, len(todo))), return_as="generator_unordered", pre_dispatch="n_jobs"
    )
    for item, result, failure in pool(joblib.delayed(_guarded)(train, item) for item in todo):
        failed += failure is not None
        line = report(item, result if failure is None else failure)
        print(f"  {line}; {remaining.after(work(item))}", file=sys.stderr)
    print(f"  {out}: {len(wanted) - failed:,} {unit} stored, {failed:,} failed")
    return int(failed > 0)


def _guarded(train: Callable[[Any], Any], item: Any) -> tuple[Any, Any, str | None]:
    """Train one model. Return (model, result, None), or (model, None, failure message)."""
    try:
        with one_thread():
            return item, train(item), None
    except Exception as error:
        return item, None, f"failed ({type(error).__name__}: {' '.join(str(error).split())[:200]})"
