"""One number in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike


def ece(
    p: ArrayLike,
    y: ArrayLike,
    notion: str = "top_label",
    bins: int = 15,
    classes: Sequence[Any] | None = None,
) -> float:
    """The plain binned L1 calibration error over bins of equal width, as most papers report it ("ECE").

        sum_b n_b / n |mean y in b - mean p in b|

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities, as for `harness.estimate`.
    y : array_like, (n,)
        Labels.
    notion : {"top_label", "binary", "classwise"}
        What is judged; classwise is the mean over the classes.
    bins : int
        Bins of equal width in [0, 1].
    classes : sequence, optional
        Names of the classes, as for `harness.estimate`.

    Returns
    -------
    float
        In [0, 1], not in percent. Too high by the noise of the bins at small n, too low where errors cancel within a bin;
        `harness.judge` says by how much, and how sure one can be.

    Raises
    ------
    BadInputError
        If p, y, notion or bins cannot be used.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo, Pleiss, Sun and Weinberger (2017), ICML, eq. 3.

    Examples
    --------
    >>> round(ece([0.9, 0.8, 0.3, 0.6], [1, 1, 0, 0], notion="binary", bins=2), 6)
    0.15
    """
    import harness
    from harness.estimators.binned import Binned

    return float(harness.estimate(Binned(bins=bins), p, y, notion, classes=classes)["l1"].value)
