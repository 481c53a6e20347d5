"""Which fold each sample is held out in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError, UndefinedError


def fold_of(y: NDArray[np.int64], folds: int, stratified: bool, rng: Any) -> NDArray[np.int64]:
    """Fold of every sample for cross-validation, the sizes of the folds differing by at most one.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    folds : int
        How many folds; with one, all samples are in fold 0 and rng is not used.
    stratified : bool
        Whether every class is spread evenly over the folds.
    rng : numpy.random.Generator or int
        What the folds are drawn from.

    Raises
    ------
    UndefinedError
        If there are fewer samples than folds.

    Examples
    --------
    >>> np.bincount(fold_of(np.zeros(7, int), 3, False, 0)).tolist()
    [3, 2, 2]
    """
    n = len(y)
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    fold = np.zeros(n, dtype=np.int64)
    if folds == 1:
        return fold
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, which decides the folds.")
    order = np.random.default_rng(rng).permutation(n)
    if stratified:
        order = order[np.argsort(y[order], kind="stable")]
        fold[order] = np.arange(n) % folds
    else:
        fold[order] = np.repeat(
            np.arange(folds), [len(part) for part in np.array_split(np.arange(n), folds)]
        )
    return fold
