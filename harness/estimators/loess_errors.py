"""Errors of clinical statistics from a smooth calibration curve: ICI, E50, E90, Emax and ECI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.math.loess import loess
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class LoessErrors:
    """Distances of the predictions from their loess calibration curve: ICI, E50, E90, Emax, ECI.

        d_i        = |p_i - c(p_i)|, where c is the loess curve of the outcomes y on p
        l1         = mean of d          ICI, the integrated calibration index
        e50, e90   = quantiles of d     E50, the median, and E90, at 0.9
        linf       = max of d           Emax
        l2_squared = mean of d^2        ECI / 100, the estimated calibration index

    p is (n,), with outcomes y (n,) in {0, 1}.

    Parameters
    ----------
    span : float
        Share of the samples that determine the curve at one p, above 0 and at most 1.

    Notes
    -----
    The curve is that of R's `loess(y ~ p)`: locally quadratic, tricube weights, span 0.75, least
    squares (`harness.math.loess`). Two details differ from R's defaults. The curve is computed at
    every p by itself, as with `surface = "direct"`. Equal p that fill the span get their mean
    outcome, where R stops. The curve may leave [0, 1]; as in the published code, it is not clipped.

    ECI is published as 100 mean d^2 for two classes, so that it is 100 times l2_squared. Quantiles
    are interpolated as by R's default, type 7.

    **Bias.** Near calibration, the noise of the curve is a bias upwards. On beta_calibrated, the
    mean of l1 is 0.55 / sqrt(n), half of that of 15 bins, because the curve has only about four
    free parameters. For the same reason it cannot follow an error that changes its sign several
    times, and the bias there is downwards for every n: the mean of l1 on beta_wavy is 0.017 at
    n = 5,000, and the truth is 0.040.

    With at most three distinct p, the curve passes through their mean outcomes. The errors are then
    those of a bin for each p.

    Cost: O(n log n + m^2) with m the smaller of n and about 1,000.

    References
    ----------
    Austin and Steyerberg (2019), The Integrated Calibration Index (ICI) and related metrics for
    quantifying the calibration of logistic regression models, Statistics in Medicine 38,
    4051-4065. Van Hoorde et al. (2015), A spline-based tool to assess and visualize the calibration
    of multiclass risk predictions, J. Biomedical Informatics 54, 283-293 (ECI). Cleveland and
    Grosse (1991), Computational methods for local regression, Statistics and Computing 1, 47-62.

    Examples
    --------
    >>> estimates = LoessErrors()([0.2, 0.2, 0.6, 0.6], [0, 1, 1, 1])
    >>> {name: round(e.value, 6) for name, e in estimates.items()}
    {'l1': 0.35, 'e50': 0.35, 'e90': 0.4, 'linf': 0.4, 'l2_squared': 0.125}
    """

    span: float = 0.75

    notions = ("binary", "top_label", "classwise")
    estimands = ("l1", "e50", "e90", "linf", "l2_squared")
    determinism = "rounding"
    revision = 1
    null_bias = 0.05

    def __post_init__(self) -> None:
        if not (is_positive(self.span) and self.span <= 1):
            raise BadInputError(
                f"span is {self.span!r}; a number above 0 and at most 1 is needed, such as 0.75."
            )

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the distances of predictions p (n,) from their curve, for outcomes y (n,)."""
        p, y = checked_scalars(p, y)
        distance = np.abs(p - loess(p, y, self.span))
        median, high = np.quantile(distance, [0.5, 0.9])
        values = {
            "l1": distance.mean(),
            "e50": median,
            "e90": high,
            "linf": distance.max(),
            "l2_squared": (distance**2).mean(),
        }
        return {name: Estimate(float(x)) for name, x in values.items()}
