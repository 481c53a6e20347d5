"""Sigmoid maps of the logit with two or three coefficients: Platt scaling and beta calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.logits import floored_log, log_odds, on_columns
from harness.calibrators.newton import RIDGE, logistic, one_versus_rest


@dataclass(frozen=True)
class Platt:
    """Platt scaling of the logit; one-versus-rest for more than two classes.

        q(p) = sigma(a + b l),   l = logit p,   (a, b) of least mean log-loss

    Logs are floored at -87.336. Vectors: one q_j per class, on p_j against 1{y = j}, divided by the row's sum.

    Notes
    -----
    Newton steps with the analytic Hessian to the exact minimum; a ridge of 1e-6 to the identity (0, 1) keeps separable samples
    finite. Labels are taken as they are (Platt's own targets are drawn towards 1/2 by one sample per class), and b may be
    negative. Two coefficients: little noise, of order 1/n in a variational squared error, but a wave of E[Y given p] stays
    undetected, so that the estimate with it is a lower bound that may be far from tight. Determinism: exact. Cost: O(n k) per
    step, about seven of them.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, eq. 2, with the logit of p as score.
    Guo et al. (2017), On calibration of modern neural networks, Section 4.1.

    Examples
    --------
    Two distinct predictions and two coefficients: each gets its share of ones.

    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.7], 4), np.array([0, 0, 0, 1, 0, 1, 0, 1])
    >>> Platt().fit(p, y)(np.array([0.2, 0.7])).round(3)
    array([0.25, 0.5 ])
    """

    determinism = "exact"

    def fit(self, p, y, rng=None):
        if p.ndim == 2:
            return on_columns(self, p, y, rng) if p.shape[1] == 2 else one_versus_rest(self.fit, p, y)
        a, b = self.coefficients(p, y)
        return lambda x: expit(a + b * log_odds(x))

    def coefficients(self, p, y):
        """(a, b), (2,)."""
        x = log_odds(p)
        return logistic(np.column_stack([np.ones_like(x), x]), y, np.array([0.0, 1.0]))


@dataclass(frozen=True)
class BetaCalibration:
    """Beta calibration; one-versus-rest for more than two classes.

        q(p) = sigma(a log p - b log(1 - p) + c),   a, b >= 0,   (a, b, c) of least mean log-loss

    Logs are floored at -87.336. Vectors: one q_j per class, on p_j against 1{y = j}, divided by the row's sum.

    Notes
    -----
    It is the calibration map of scores that are Beta distributed within each class, and holds the identity (1, 1, 0). Newton
    steps to the exact minimum on the quadrant: where the free minimum has a negative coefficient, that of the best side of it is
    taken (the published procedure: the coefficient is set to 0 and the others are fitted again). A ridge of 1e-6 to the identity
    keeps separable samples finite. q never decreases, so that a non-monotone E[Y given p] stays undetected: the variational
    estimate with it is a lower bound. Determinism: exact. Cost: O(n k) per step, about seven of them.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration, AISTATS, eq. 5 and Section 4.

    Examples
    --------
    Labels of 1 the more often the smaller p: no map that never decreases is better than the share of ones.

    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 4), np.array([1, 1, 1, 0, 0, 1, 0, 0])
    >>> BetaCalibration().fit(p, y)(np.array([0.2, 0.8])).round(3)
    array([0.5, 0.5])
    """

    determinism = "exact"
    seconds = 1e-3

    def fit(self, p, y, rng=None):
        if p.ndim == 2:
            return on_columns(self, p, y, rng) if p.shape[1] == 2 else one_versus_rest(self.fit, p, y)
        w = self.coefficients(p, y)
        return lambda x: expit(_beta_features(x) @ w)

    def coefficients(self, p, y):
        """(a, b, c), (3,), of which a and b are at least 0."""
        features, identity = _beta_features(p), np.array([1.0, 1.0, 0.0])

        def fitted(free):
            """The minimum where the other coefficients are 0."""
            w = np.zeros(3)
            w[free] = logistic(features[:, free], y, identity[free])
            return w

        w = fitted([0, 1, 2])
        if w[0] < 0.0 or w[1] < 0.0:
            sides = [fitted(free) for free in ([0, 2], [1, 2])]
            # A convex function without its minimum in the quadrant has it on a side, or in the corner.
            inside = [side for side in sides if side[:2].min() >= 0.0] or [fitted([2])]
            w = min(inside, key=lambda side: _penalised(features, y, side, identity))
        return w


def _beta_features(p):
    """Columns log p, -log(1 - p), 1, (n, 3)."""
    return np.column_stack([floored_log(p), -floored_log(1.0 - p), np.ones_like(p)])


def _penalised(features, y, w, identity):
    t = features @ w
    return np.logaddexp(0.0, t).mean() - (t * y).mean() + 0.5 * RIDGE * ((w - identity) ** 2).sum()
