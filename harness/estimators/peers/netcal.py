"""Estimators of the library netcal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import UndefinedError
from harness.estimators.base import check_choice
from harness.estimators.peers.base import Measure, PeerOfMeasures


@dataclass(frozen=True)
class Netcal(PeerOfMeasures):
    """Measures of netcal: three binned errors, and a kernel error.

        l1            ECE: sum_b n_b / n |gap_b|
        ace_average   ACE: the mean of |gap_b| over the bins that are not empty
        linf          MCE: the largest |gap_b|
        mmce          MMCE: maximum mean calibration error, a kernel error without bins

    n is the number of samples, n_b that of bin b, and gap_b = mean p in b - mean y in b.

    Parameters
    ----------
    measure : {"l1", "ace_average", "linf", "mmce"}
        The measure that is computed.
    bins : int
        Number of bins. `mmce` ignores it.
    rule : {"width", "mass"}
        Bins of equal width, or bins between quantiles of p. `mmce` ignores it.

    Notes
    -----
    All measures are biased upwards. netcal clips p to [2.2e-16, 1 - 2.2e-16].

    For one probability per sample, mmce compares "the predicted class is 1" with y, but takes p as
    the confidence. For p <= 1/2 this is the residual of the wrong class. Calibrated predictions
    therefore score far above 0, which `null_bias` declares.

    Cost: O(n log n); O(n^2) for mmce.

    References
    ----------
    Kuppers et al. (2020), Multivariate confidence calibration for object detection; netcal 1.4.0.

    Examples
    --------
    >>> Netcal("ace_average").estimands
    ('ace_average',)
    """

    measure: str = "l1"
    bins: int = 15
    rule: str = "width"

    package = "netcal"
    measures = {
        "l1": Measure(("l1",)),
        "ace_average": Measure(("ace_average",)),
        "linf": Measure(("linf",)),
        "mmce": Measure(("mmce",), null_bias=0.5, max_n=10_000),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("rule", self.rule, ("width", "mass"))

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return {estimand: number} from netcal, for scalar predictions p and labels y."""
        from netcal import metrics

        if self.measure == "mmce":
            return {"mmce": metrics.MMCE().measure(p, y)}
        kind = {"l1": metrics.ECE, "ace_average": metrics.ACE, "linf": metrics.MCE}[self.measure]
        metric = kind(self.bins, equal_intervals=self.rule == "width")
        try:
            return {self.measure: metric.measure(p, y)}
        except ValueError as error:  # ties among the quantiles
            raise UndefinedError(f"netcal: {error}") from error
