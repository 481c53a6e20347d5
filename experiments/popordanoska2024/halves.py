"""Recalibration of test rows in two halves, for networks without validation predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems import Predictions
from harness.problems.base import Wrapper


@dataclass(frozen=True)
class RecalibratedHalves(Wrapper):
    """Rows of a problem, where each half is recalibrated by a map fitted on the other half.

        p_A = q_B(f_A),  p_B = q_A(f_B),  q_S = calibrator.fit(f_S, y_S)

    f are the predictions and y the labels. A is the first half of a sample in random order, and B
    the second. Rows are divided by their sums, as in harness.problems.Recalibrated. There is no
    truth.

    Parameters
    ----------
    problem : Problem
        Gives predictions (n, k) and labels.
    calibrator : Calibrator
        Maps probabilities to probabilities.
    """

    problem: Any
    calibrator: Any

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_rows, rng_fit = rng.spawn(2)
        f, y = self.problem.sample(n, rng_rows)
        if f.ndim != 2 or n < 2:
            raise BadInputError(
                f"the problem gives predictions of shape {f.shape}; at least two rows of (n, k) "
                "are needed."
            )
        halves = slice(None, n // 2), slice(n // 2, None)
        p = np.empty_like(f)
        for this, other in (halves, halves[::-1]):
            p[this] = self.calibrator.fit(f[other], y[other], rng_fit)(f[this])
        return p / p.sum(axis=1, keepdims=True), y


@dataclass(frozen=True)
class HalvesOfFiles:
    """Family of files of predictions, before and after recalibration in halves.

    The ids are `<name>/<network>` and `<name>/<network>/<method>`.

    Parameters
    ----------
    name : str
        First part of the ids.
    files : dict
        {network: path of a file of predictions}.
    calibrators : dict
        {method: calibrator}.
    """

    name: str = "halves"
    files: dict[str, str] | None = None
    calibrators: dict[str, Any] | None = None

    def members(self) -> dict[str, Any]:
        """Return {id: Predictions or RecalibratedHalves}."""
        problems: dict[str, Any] = {}
        for network, path in (self.files or {}).items():
            rows = Predictions(path)
            problems[f"{self.name}/{network}"] = rows
            for method, calibrator in (self.calibrators or {}).items():
                problems[f"{self.name}/{network}/{method}"] = RecalibratedHalves(rows, calibrator)
        return problems
