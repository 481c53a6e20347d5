"""Estimators of the library uncertainty-calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import UndefinedError
from harness.estimators.base import check_choice
from harness.estimators.peers.base import Measure, PeerOfMeasures, seed_globally


@dataclass(frozen=True)
class UncertaintyCalibration(PeerOfMeasures):
    """Measures of uncertainty-calibration: debiased squared error, normal-debiased l1, binned l1.

        debiased          l2_squared = sum_b n_b / n [gap_b^2 - mean y (1 - mean y) / (n_b - 1)]
                          rms = sqrt(max(l2_squared, 0))
        plugin            l1 = sum_b n_b / n |gap_b|
        normal_debiased   l1 = 2 (plugin) - (mean plugin of 1,000 simulated samples)

    n is the number of samples, n_b that of bin b, gap_b = mean p - mean y, and means are over the
    samples of bin b. A simulated sample replaces mean y of each bin by a normal draw about it.

    Parameters
    ----------
    measure : {"debiased", "normal_debiased", "plugin"}
        The measure that is computed.
    bins : int
        Number of bins.
    rule : {"width", "mass"}
        Bins (a, b] of equal width, or of equal counts.

    Notes
    -----
    debiased equals our estimator `debiased15`; its rms is biased upwards near calibration.

    normal_debiased is undefined if a bin has fewer than two samples. It may be negative. It is
    biased downwards if gaps of both signs cancel inside bins.

    Cost: a Python loop over the n samples.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, Definition 5.1;
    uncertainty-calibration 0.1.4.

    Examples
    --------
    >>> UncertaintyCalibration().estimands
    ('l2_squared', 'rms')
    """

    measure: str = "debiased"
    bins: int = 15
    rule: str = "mass"

    package = "uncertainty-calibration"
    measures = {
        "debiased": Measure(("l2_squared", "rms")),
        "normal_debiased": Measure(("l1",), "statistical"),
        "plugin": Measure(("l1",)),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("rule", self.rule, ("width", "mass"))

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return {estimand: number} from the library, for scalar predictions p and labels y."""
        from calibration import utils

        get_edges = utils.get_equal_bins if self.rule == "mass" else utils.get_equal_prob_bins
        binned = utils.bin(list(zip(p, y)), get_edges(p.tolist(), num_bins=self.bins))
        if self.measure == "debiased":
            squared = utils.unbiased_square_ce(binned)
            return {"l2_squared": squared, "rms": max(squared, 0.0) ** 0.5}
        if self.measure == "plugin":
            return {"l1": utils.plugin_ce(binned, power=1)}
        if min(map(len, binned)) < 2:
            raise UndefinedError("a bin has fewer than two samples")
        with seed_globally(rng):
            return {"l1": utils.normal_debiased_ce(binned, power=1)}
