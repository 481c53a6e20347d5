"""Random assignment of samples to cross-validation folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError, UndefinedError


def assign_folds(y: NDArray[np.int64], folds: int, stratified: bool, rng: Any) -> NDArray[np.int64]:
    """Return the fold number of each sample; fold sizes differ by at most one.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    folds : int
        Number of folds. If it is 1, all samples are in fold 0 and `rng` is not used.
    stratified : bool
        If True, spread every class evenly over the folds.
    rng : numpy.random.Generator or int
        Source of the random assignment, or its seed.

    Returns
    -------
    ndarray of shape (n,)
        Integers from 0 to folds - 1.

    Raises
    ------
    UndefinedError
        If there are fewer samples than folds.

    Examples
    --------
    >>> np.bincount(assign_folds(np.zeros(7, int), 3, False, 0)).tolist()
    [3, 2, 2]
    """
    n = len(y)
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    fold = np.zeros(n, dtype=np.int64)
    if folds == 1:
        return fold
    if rng is None:
        raise BadInputError(
            "rng is missing; give a numpy Generator, from which the folds are drawn."
        )
    order = np.random.default_rng(rng).permutation(n)
    if stratified:
        order = order[np.argsort(y[order], kind="stable")]
        fold[order] = np.arange(n) % folds
    else:
        sizes = n // folds + (np.arange(folds) < n % folds)
        fold[order] = np.repeat(np.arange(folds), sizes)
    return fold
