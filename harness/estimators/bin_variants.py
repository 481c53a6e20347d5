"""Variants of the binned error: other weights, other predictions, another number of bins."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, Wrapper, check_choice
from harness.estimators.binned import Binned, bin_means, check_bins, weighted_bin_means
from harness.math.notions import checked_by_class, checked_scalars
from harness.math.weights import weighted_rows

RULES = ("width", "mass")


@dataclass(frozen=True)
class AdaptiveClasswise:
    """Binned error of every class on bins of equal mass, above a threshold (ACE and TACE).

        1/k sum_j sum_b (n_jb / n_j) |mean p_j in bin b - share of outcome j in bin b|

    p_j is the predicted probability of class j = 1, ..., k. Only the n_j predictions with
    p_j >= threshold count, of which n_jb are in bin b.

    Parameters
    ----------
    bins : int
        Number of bins per class, of equal counts. Equal p are never separated.
    threshold : float
        0 takes all predictions; this is ACE. The authors use 0.01 for TACE. A class without
        predictions of at least the threshold counts as 0, as in the authors' code.

    Notes
    -----
    Estimand: class-wise l1 if the threshold is 0, else `tace`. The limit of `tace` is the mean over
    the classes of E[|p_j - C_j| given p_j >= threshold], with C_j = P(Y = j given p_j). It is
    larger than l1 if most predictions are small.

    Biased upwards by noise, and downwards by gaps that cancel in a bin, as `Binned`. UndefinedError
    if no prediction reaches the threshold. Cost: O(k n log bins).

    References
    ----------
    Nixon et al. (2019), Measuring calibration in deep learning, CVPR Workshops. Sizes of bins may
    differ by one sample. Bins are weighted by their size, as in the authors' code; in the paper's
    text all bins have the same weight.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.005, 0.995]])
    >>> y = np.array([[1, 0], [0, 1], [0, 1], [0, 1]])
    >>> AdaptiveClasswise(bins=1, threshold=0.01)(p, y)["tace"].value.__round__(6)
    0.321458
    """

    bins: int = 15
    threshold: float = 0.0

    notions = ("classwise",)
    determinism = "exact"
    revision = 1
    null_bias = 0.05
    takes_classwise = True

    def __post_init__(self) -> None:
        check_bins(self.bins)
        if not 0.0 <= self.threshold < 1.0:
            raise BadInputError(
                f"threshold is {self.threshold!r}; give a number of at least 0 and below 1."
            )

    @property
    def estimands(self) -> tuple[str, ...]:
        return ("tace",) if self.threshold > 0.0 else ("l1",)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the error of predictions p (n, k), for class indicators y (n, k)."""
        columns = checked_by_class(p, y)
        kept = [(x[x >= self.threshold], hits[x >= self.threshold]) for x, hits in columns]
        if not any(len(x) for x, _ in kept):
            raise UndefinedError(f"no prediction is at least {self.threshold}, the threshold")
        errors = [
            Binned(self.bins, "mass")(x, hits)["l1"].value if len(x) else 0.0 for x, hits in kept
        ]
        return {self.estimands[0]: Estimate(float(np.mean(errors)))}


@dataclass(frozen=True)
class AverageBinned:
    """Average calibration error: the mean gap of the bins, all with the same weight.

        ace_average = 1/B sum_b |mean p in b - mean y in b|

    The sum runs over the B bins that are not empty.

    Parameters
    ----------
    bins : int
        Number of bins, empty bins included.
    rule : {"width", "mass"}
        Bins of equal width or of equal counts, as in `Binned`.

    Notes
    -----
    Estimand: `ace_average`. With many bins of equal width it is the mean of |p - E[Y given p]| over
    p uniform on the range of the predictions, not over their distribution.

    Biased upwards by the noise of bins with few samples, because these have full weight. The bias
    is far larger than that of `Binned`, and falls only as the smallest bins grow. Cost: O(n log B).

    References
    ----------
    Neumann, Zisserman and Vedaldi (2018), Relaxed softmax, NeurIPS workshop; the ACE of netcal.

    Examples
    --------
    >>> round(AverageBinned(bins=2)([0.1, 0.2, 0.3, 0.9], [0, 0, 0, 0])["ace_average"].value, 6)
    0.55
    """

    bins: int = 15
    rule: str = "width"

    notions = ("binary", "top_label", "classwise")
    estimands = ("ace_average",)
    determinism = "exact"
    revision = 1
    null_bias = 0.1

    def __post_init__(self) -> None:
        check_bins(self.bins)
        check_choice("rule", self.rule, RULES)

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the mean gap of predictions p (n,), for outcomes y (n,).

        With `sample_weight` (n,), the means in the bins are weighted. All bins still count alike.
        """
        p, y = checked_scalars(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        if w is None:
            return self.of_bins(*bin_means(p, y, self.bins, self.rule))
        return self.of_bins(*weighted_bin_means(p, y, w, self.bins, self.rule)[:3])

    def of_bins(
        self, sizes: np.ndarray, mean_p: np.ndarray, mean_y: np.ndarray
    ) -> dict[str, Estimate]:
        """Return the estimate from the bins that are not empty, as `Binned.of_bins` does."""
        return {
            "ace_average": Estimate(
                float(np.abs(mean_p - mean_y).mean()), diagnostics={"bins": float(len(mean_p))}
            )
        }


@dataclass(frozen=True)
class CubeRootBins(Wrapper):
    """Binned estimator whose number of bins is ceil(n^(1/3)), for n samples.

    Parameters
    ----------
    estimator : Estimator
        An estimator with a field `bins`, such as `Binned` or `Debiased`. Its other fields are kept.

    Notes
    -----
    Estimands and cost are those of the wrapped estimator. The plug-in estimator of l2_squared has
    two biases: by noise, of order bins / n, and by cancellation in a bin, of order 1 / bins^2. With
    n^(1/3) bins both are of order n^(-2/3).

    References
    ----------
    n_bins="cube_root" of scikit-learn (pull requests 33856 and, for calibration errors, 34261; not
    yet in version 1.9.1).

    Examples
    --------
    >>> p, y = np.arange(8) / 8, [0, 0, 1, 0, 1, 1, 0, 1]
    >>> CubeRootBins()(p, y)["l1"] == Binned(2, "mass")(p, y)["l1"]
    True
    """

    estimator: Any = field(default_factory=lambda: Binned(rule="mass"))

    @property
    def revision(self) -> tuple[Any, ...]:
        return (1, self.inner.revision)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: Any = None) -> dict[str, Estimate]:
        """Return the estimates of the wrapped estimator, for predictions p (n,) and outcomes y."""
        return dict(dataclasses.replace(self.estimator, bins=cube_root(len(p)))(p, y, rng))


def cube_root(n: int) -> int:
    """Return ceil(n^(1/3)), computed in integers.

    Examples
    --------
    >>> cube_root(1000), cube_root(1001), cube_root(1)
    (10, 11, 1)
    """
    root = round(n ** (1.0 / 3.0))
    return root if root**3 >= n else root + 1
