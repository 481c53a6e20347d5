"""Estimators of the library relplot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import UndefinedError
from harness.estimators.peers.base import Measure, PeerOfMeasures, seed_globally


@dataclass(frozen=True)
class Relplot(PeerOfMeasures):
    """Measures of relplot, by their authors: smooth, interval, Laplace-kernel and binned error.

        smooth_ece    relplot.smECE: the L1 norm of the smoothed residual, at the bandwidth that
                      equals this norm
        interval_ce   intCE_rand: the minimum over bin widths of the width plus the binned error,
                      which is averaged over random positions of the bins
        laplace_kce   laplace_calibration_approx: the root of a Monte Carlo mean, over pairs of
                      samples, of the product of their residuals times exp(-|f - f'|)
        l1            binnedECE, with 15 bins of equal width

    A residual is outcome minus prediction; f and f' are the predictions of a pair.

    Parameters
    ----------
    measure : {"smooth_ece", "interval_ce", "laplace_kce", "l1"}
        The measure that is computed.

    Notes
    -----
    All measures are biased upwards. Known deviations of the library:

    * smooth_ece uses a grid of 200 points, and ten bisections find the bandwidth.
    * interval_ce uses 100 random positions per width.
    * laplace_kce never draws the last sample, pairs samples with themselves, and takes the root of
      an absolute value.
    * l1 puts p = 1 into a bin of its own.

    Cost: O(n); interval_ce takes about 1,000 times as long as the other measures.

    References
    ----------
    Blasiok and Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing;
    relplot 1.0.3.

    Examples
    --------
    >>> Relplot("smooth_ece").estimands
    ('smooth_ece',)
    """

    measure: str = "smooth_ece"

    package = "relplot"
    measures = {
        "smooth_ece": Measure(("smooth_ece",)),
        "interval_ce": Measure(("interval_ce",), "statistical"),
        "laplace_kce": Measure(("laplace_kce",), "statistical"),
        "l1": Measure(("l1",)),
    }

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return {estimand: number} from relplot, for scalar predictions p and labels y."""
        import relplot

        if self.measure == "smooth_ece":
            return {"smooth_ece": relplot.smECE(p, y)}
        if self.measure == "l1":
            return {"l1": relplot.metrics.binnedECE(p, y, nbins=15)}
        if self.measure == "laplace_kce" and len(p) < 2:
            raise UndefinedError(
                "relplot never draws the last sample, so it needs two samples; there is one"
            )
        with seed_globally(rng):
            if self.measure == "interval_ce":
                return {"interval_ce": relplot.metrics.intCE_rand(p, y)}
            return {"laplace_kce": relplot.metrics.laplace_calibration_approx(p, y)}
