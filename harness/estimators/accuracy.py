"""Accuracy: how often the most probable class is the outcome. It is no calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.estimators.base import Estimate
from harness.math.notions import checked
from harness.math.weights import mean, weighted_rows


@dataclass(frozen=True)
class Accuracy:
    """Share of the samples whose most probable class is the outcome.

        accuracy = mean 1{argmax_j p_j = y}

    p is a predicted vector of probabilities and y its outcome. Among equal probabilities, the first
    class counts as the most probable. A scalar probability of 1/2 predicts class 0. Under the
    top-label notion, y is 1 if the predicted label was right, and the accuracy is the mean of y.

    Notes
    -----
    Estimand: the probability that the most probable class is the outcome. Unbiased. Cost: O(n k)
    for n samples and k classes.

    Examples
    --------
    >>> import numpy as np
    >>> Accuracy()(np.array([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]]), np.array([0, 2]))["accuracy"].value
    0.5
    """

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("accuracy",)
    determinism = "exact"
    revision = 1
    null_bias = 1.0
    wants = ("notion",)
    takes_classwise = True

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: object = None,
        notion: str | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the accuracy of p (n,) or (n, k), for outcomes (n,) or class indicators (n, k).

        With `sample_weight` (n,) it is a weighted share.
        """
        y = np.asarray(y)
        p, y = checked(p, y.argmax(axis=1) if y.ndim == 2 else y)
        p, y, w = weighted_rows(p, y, sample_weight)
        if notion == "top_label":
            return {"accuracy": Estimate(mean(y, w))}
        predicted = p > 0.5 if p.ndim == 1 else p.argmax(axis=1)
        return {"accuracy": Estimate(mean(predicted == y, w))}
