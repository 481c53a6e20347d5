"""Post-hoc recalibration as a problem: the predictions of one problem after a calibrator that was fitted on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems.base import ProblemSpec, Wrapper


@dataclass(frozen=True)
class Recalibrated(Wrapper):
    """p = q(f) with (f, y) of `test` and q = calibrator.fit of `validation`: all rows of a file, `validation_n` of a generator.

    In one rep the fit is the same for every n; validation rows, calibrator and test rows have a random stream each. Calibrators
    take and give probabilities: where a file holds logits, q sees their softmax, which is all that a temperature needs, for
    softmax(log p / T) = softmax(logits / T). `renormalise` divides every row by its sum, for calibrators that treat the classes
    one by one and leave sums other than 1; without it such rows are refused later (harness.math.notions).

    Truth: none. The posterior of `test` is that given f; given q(f) it is the same only where q is one-to-one on the vectors.
    Nothing here can tell that of a fitted map, so not even a temperature on a synthetic problem has its truth claimed.

    `notions`, `default_n` and so on are those of `test`. Both problems must have the same number of columns.
    """

    validation: Any
    test: Any
    calibrator: Any
    validation_n: int | None = None
    renormalise: bool = True

    def __post_init__(self):
        n = self.validation_n
        if n is not None and not (isinstance(n, int) and not isinstance(n, bool) and n >= 1):
            raise BadInputError(f"validation_n is {n!r}; a positive integer, or null for all rows of a file, is needed.")

    @property
    def wrapped(self):
        """What the test problem declares, on whose samples the recalibrated predictions are made."""
        return ProblemSpec.of(self.test)

    @property
    def version(self):
        """Raised with the versions of both parts: their draws are this problem's draws."""
        return (1, ProblemSpec.of(self.validation).version, self.wrapped.version)

    @property
    def unavailable(self) -> str | None:
        """Why a part cannot be run here, or None."""
        for name in ("validation", "test", "calibrator"):
            reason = ProblemSpec.of(getattr(self, name)).unavailable
            if reason:
                return f"{name}: {reason}"
        return None

    def sample(self, n, rng):
        rng_validation, rng_fit, rng_test = rng.spawn(3)
        f, hit = self.validation.sample(self._validation_rows(), rng_validation)
        p, y = self.test.sample(n, rng_test)
        if f.shape[1:] != p.shape[1:]:
            raise BadInputError(
                f"validation has predictions of shape {f.shape}, test of {p.shape}; equally many columns are needed."
            )
        p = np.asarray(self.calibrator.fit(f, hit, rng_fit)(p), dtype=np.float64)
        if self.renormalise and p.ndim == 2:
            total = p.sum(axis=1, keepdims=True)
            if not (total > 0).all():
                i = int(np.argmin(total[:, 0] > 0))
                raise BadInputError(
                    f"calibrator gives row {i} the sum {total[i, 0]:.6g}; a positive one is needed to renormalise."
                )
            p = p / total
        return p, y

    def _validation_rows(self):
        rows = self.validation_n or ProblemSpec.of(self.validation).n_max
        if rows is None:
            raise BadInputError(
                "validation_n is missing; a generator has no end, so say how many rows the calibrator is fitted on."
            )
        return rows
