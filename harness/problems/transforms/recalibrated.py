"""Problem with recalibrated predictions, whose calibrator was fitted on another problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems.base import ProblemSpec, Wrapper


@dataclass(frozen=True)
class Recalibrated(Wrapper):
    """Predictions of one problem, recalibrated by a calibrator that was fitted on another problem.

        p = q(f),  (f, y) from `test`,  q = calibrator.fit(validation)

    Parameters
    ----------
    validation : Problem
        Problem on which the calibrator is fitted: on all rows of a file, or on `validation_n`
        samples of a generated problem.
    test : Problem
        Problem whose predictions are recalibrated. It defines notions, sizes and labels, and must
        have as many columns as `validation`.
    calibrator : Calibrator
        Maps probabilities to probabilities. For files of logits it receives their softmax. This is
        enough for a temperature T: softmax(log p / T) = softmax(logits / T).
    validation_n : int, optional
        Number of validation samples.
    renormalise : bool
        If True, divide rows by their sums, for calibrators that treat the classes separately. If
        False, rows whose sums are not 1 are refused later (harness.math.notions).

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
    Within one replication the fit is the same for every n, because validation rows, calibrator and
    test rows have separate random streams.

    There is no truth. The posterior of `test` conditions on f. Conditioning on q(f) would give the
    same values only if q is one-to-one, which is unknown for a fitted map.
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
                f"validation_n is {n!r}; a positive integer, or null for all rows of a file, "
                "is needed."
            )

    @property
    def wrapped(self) -> ProblemSpec:
        """Attributes of the test problem, which this problem inherits."""
        return ProblemSpec.of(self.test)

    @property
    def version(self) -> tuple[Any, ...]:
        """Tuple with the versions of both problems, because samples depend on both."""
        return (1, ProblemSpec.of(self.validation).version, self.wrapped.version)

    @property
    def unavailable(self) -> str | None:
        """Reason why validation, test or calibrator cannot be used here, or None."""
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
                f"validation has predictions of shape {f.shape}, but test has {p.shape}; "
                "the numbers of columns must be equal."
            )
        p = np.asarray(self.calibrator.fit(f, hit, rng_fit)(p), dtype=np.float64)
        if self.renormalise and p.ndim == 2:
            total = p.sum(axis=1, keepdims=True)
            if not (total > 0).all():
                i = int(np.argmin(total[:, 0] > 0))
                raise BadInputError(
                    f"calibrator returns row {i} with the sum {total[i, 0]:.6g}; "
                    "renormalise needs a positive sum."
                )
            p = p / total
        return p, y

    def _validation_rows(self) -> int:
        """Return the number of validation samples."""
        rows = self.validation_n or ProblemSpec.of(self.validation).n_max
        if rows is None:
            raise BadInputError(
                "validation_n is missing; give the number of samples on which the calibrator is "
                "fitted."
            )
        return rows
