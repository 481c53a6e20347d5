"""Problem with uniform predictions and balanced labels, without randomness and without a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError


@dataclass(frozen=True)
class UniformModel:
    """Uniform predictions on a test set with balanced classes.

        p_i = (1/k, ..., 1/k),  y_i = i mod k,  i = 0, ..., n - 1

    Parameters
    ----------
    classes : int
        Number k of classes, at least 2.
    rows : int
        Size of the test set. Smaller samples are prefixes of it.

    Notes
    -----
    Nothing is random. If n is a multiple of k, the residuals sum to 0, so CKCE and ECE are 0. The
    unbiased SKCE with the kernel p . q + exp(-||p - q||^2 / (2 gamma^2)) is then -(1 + 1/k)(1 -
    1/k) / (n - 1). There is no truth, because the rows are not a random sample. `Uniform` has the
    same predictions with the labels of another problem.

    Examples
    --------
    >>> p, y = UniformModel(classes=2, rows=4).sample(4, np.random.default_rng(0))
    >>> p[0].tolist(), y.tolist()
    ([0.5, 0.5], [0, 1, 0, 1])

    References
    ----------
    moskvichev2025, Table 1: the marginal model on the 50,000 validation images of ImageNet.
    """

    classes: int = 1000
    rows: int = 50_000

    notions = ("canonical",)
    version = 1
    default_reps = 1

    def __post_init__(self) -> None:
        if not self.classes >= 2 or not self.rows >= 1:
            raise BadInputError(
                f"classes is {self.classes} and rows is {self.rows}; "
                "at least 2 classes and 1 row are needed."
            )

    @property
    def n_max(self) -> int:
        """Number of rows of the test set."""
        return self.rows

    default_n = n_max

    def sample(self, n: int, rng: object) -> tuple[np.ndarray, np.ndarray]:
        """Return the first n rows: p (n, k), read-only, and y (n,)."""
        return np.broadcast_to(1.0 / self.classes, (n, self.classes)), np.arange(n) % self.classes

    def truth(self, estimand: str, notion: str | None = None) -> None:
        """Return None, because there is no truth."""
        return None
