"""Post-hoc recalibration as a problem: the predictions of one problem after a calibrator that was fitted on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems.base import ProblemSpec, Wrapper


@dataclass(frozen=True)
class Recalibrated(Wrapper):
    """The predictions of one problem after a calibrator that was fitted on another: post-hoc recalibration.

        p = q(f),  (f, y) from `test`,  q = calibrator.fit(validation)

    Parameters
    ----------
    validation : Problem
        What the calibrator is fitted on: all rows of a file, `validation_n` of a generator.
    test : Problem
        What is recalibrated; notions, sizes and labels are its own. It must have as many columns as `validation`.
    calibrator : Calibrator
        Takes and gives probabilities. Where a file holds logits it sees their softmax, which is all that a temperature needs:
        softmax(log p / T) = softmax(logits / T).
    validation_n : int, optional
        The number of validation samples.
    renormalise : bool
        Whether rows are divided by their sums, for calibrators that treat the classes one by one; without it rows whose sums
        are not 1 are refused later (harness.math.notions).

    Examples
    --------
    >>> import numpy as np
    >>> from harness.calibrators import Temperature
    >>> from harness.problems import Beta
    >>> from harness.problems.maps import LogitAffine
    >>> source = Beta(map=LogitAffine(0.4, 0.3))
    >>> problem = Recalibrated(source, source, Temperature(), validation_n=500)
    >>> problem.sample(4, np.random.default_rng(0))[0].round(2)
    array([0.67, 0.77, 0.41, 0.62])

    Notes
    -----
    In one replication the fit is the same for every n: validation rows, calibrator and test rows have a random stream each.

    Truth: none. The posterior of `test` is that given f; given q(f) it is the same only where q is one-to-one on the vectors,
    which nothing here can tell of a fitted map.
    """

    validation: Any
    test: Any
    calibrator: Any
    validation_n: int | None = None
    renormalise: bool = True

    def __post_init__(self) -> None:
        n = self.validation_n
        if n is not None and not (isinstance(n, int) and not isinstance(n, bool) and n >= 1):
            raise BadInputError(
                f"validation_n is {n!r}; a positive integer, or null for all rows of a file, is needed."
            )

    @property
    def wrapped(self) -> ProblemSpec:
        """What the test problem declares, on whose samples the recalibrated predictions are made."""
        return ProblemSpec.of(self.test)

    @property
    def version(self) -> tuple[Any, ...]:
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

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
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

    def _validation_rows(self) -> int:
        rows = self.validation_n or ProblemSpec.of(self.validation).n_max
        if rows is None:
            raise BadInputError(
                "validation_n is missing; a generator has no end, so say how many rows the calibrator is fitted on."
            )
        return rows
