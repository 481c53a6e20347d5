"""Judge rows with weights: a weight says for how many cases of the population a row stands.

A row is repeated in proportion to its weight, and its copies are one group of
`harness.judging.clusters`. Means over the copies are weighted means, and tests and intervals count
rows, not copies: they hold for rows drawn with unequal probabilities, such as those of a survey.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.judging.judged import Judged

COPIES = 10_000  # number of copies that few rows get; many rows get two each on average
MOST_COPIES = 20  # largest mean number of copies of a row
MOST_ROWS = 200_000  # number of copies beyond which a row gets two on average


def repeated(data: Judged, seed: int = 0) -> Judged:
    """Return `data` with every row repeated in proportion to its weight, or as it is.

    Whole numbers w, divided by their greatest common divisor, are the numbers of copies if their
    mean is at most 20 (for more than 10,000 rows 200,000 / n, but at least 2). Else row i has
    floor(c w_i / mean w + u_i) copies, with u_i uniform on (0, 1) and c = 10,000 / n between 2 and
    20: c w_i / mean w on average. Rows without a copy are left out. The copies of a row are a
    group, unless the rows come in groups already.

    Raises
    ------
    BadInputError
        If a single row, or the rows of a single group, have all copies.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> data = repeated(from_arrays([0.1, 0.2, 0.3], [0, 1, 0], sample_weight=[2, 4, 0]))
    >>> data.p[:, 1].tolist(), data.row_groups.tolist(), data.rows
    ([0.1, 0.2, 0.2], [0, 1, 1], '2 rows of different weight')
    """
    weights = data.weights
    if weights is None:
        return data
    n, kept = len(weights), weights[weights > 0.0]
    if (kept == kept[0]).all():
        counts = (weights > 0.0).astype(np.int64)
    else:
        whole = np.round(weights).astype(np.int64) if (weights < 2**53).all() else np.zeros(n, int)
        divisor = max(int(np.gcd.reduce(whole)), 1)
        most = np.clip(MOST_ROWS / n, 2, MOST_COPIES)
        if (whole == weights).all() and weights.sum() / divisor <= most * n:
            counts = whole // divisor
        else:
            mean = float(np.clip(COPIES / n, 2, MOST_COPIES))
            u = np.random.default_rng([seed, n]).random(n)
            share = weights / weights.max()
            counts = np.floor(mean * (share / share.mean()) + u).astype(np.int64)
    rows = np.repeat(np.arange(n), counts)
    groups = None if data.row_groups is None else data.row_groups[rows]
    if groups is not None and len(np.unique(groups)) < 2:
        raise BadInputError(
            "all rows that the weights let count are in the same group of rows; intervals need at "
            "least two such groups."
        )
    if (counts > 0).sum() < 2 <= len(kept):
        raise BadInputError(
            "the weights let a single row count, because the others are too small beside it; check "
            "the weights."
        )
    are_different = bool(counts.max() > 1)
    are_copies = groups is None and are_different
    groups = rows if are_copies else groups
    return replace(
        data,
        p=data.p[rows],
        y=data.y[rows],
        groups={name: values[rows] for name, values in data.groups.items()},
        row_groups=None if groups is None else np.unique(groups, return_inverse=True)[1],
        weights=None,
        weighted_rows=len(kept) if are_different else None,
        are_copies=are_copies,
    )


def describe(weights: np.ndarray, name: str) -> str:
    """Return a phrase on the weights, with the number of rows of equal weight that they are worth.

    >>> describe(np.array([1.0, 3.0, 0.0]), "column w")
    'weights from column w: 2 rows above 0, worth 1.6 of equal weight'
    """
    share = weights / weights.max()  # a square may not overflow
    effective = share.sum() ** 2 / (share**2).sum()
    rows = format_count(int((weights > 0.0).sum()), "row")
    return f"weights from {name}: {rows} above 0, worth {effective:.3g} of equal weight"
