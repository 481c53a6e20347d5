"""Statistics of the claims that are tested on the paper's own numbers."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.stats import norm

from harness.evaluation import claims, reproduction

from .claim_numbers import exact
from .tuned import BASES

SE = " (standard error)"


def printed_gap(rows, why):
    """Test the printed lead of kde's root risk over the largest other, in standard errors.

    The result is the smallest such lead over the networks of `rows`.
    """
    gap, error = leads_of_kde(rows)
    return exact((gap / error).min(), (), claims.PAPER, why)


def printed_lead(rows, why):
    """Test the printed lead of kde's root risk over the largest other, on the nearest network."""
    level = claims.among(len(rows))
    parts = [
        claims.exact(gap, error, (), claims.PAPER, level=level)
        for gap, error in zip(*leads_of_kde(rows))
    ]
    return claims.smallest(parts, why)


def leads_of_kde(rows):
    """Return kde's printed root risk minus the largest other, and its error, by network.

    The standard error is that of the difference, as if both numbers were independent.
    """
    others = rows[[base for base in BASES if base != "kde"]]
    name = others.idxmax(axis=1)
    error = np.hypot(rows["kde" + SE], [rows.loc[row, base + SE] for row, base in name.items()])
    return rows["kde"] - others.max(axis=1), error


def gap_of_kde(numbers):
    """Return kde's number minus the largest number of another estimator.

    `numbers` is a Series by estimator, or a frame with a column per estimator and one result per
    row.
    """
    others = numbers.drop(labels="kde") if numbers.ndim == 1 else numbers.drop(columns="kde")
    return numbers["kde"] - others.max(axis=numbers.ndim - 1)


def printed_spread(tables, bases, why):
    """Test the largest difference of two printed root risks over their largest printed error."""
    each = [
        (rows[list(bases)].max(axis=1) - rows[list(bases)].min(axis=1))
        / rows[[base + SE for base in bases]].max(axis=1)
        for rows in tables
    ]
    return exact(max(ratio.max() for ratio in each), (), claims.PAPER, why)


def printed_trend(tables):
    """Test ukkr's printed root risk minus kkr's, the largest over Tables 1 to 6.

    The paper adds that "the error bars dominate the performance difference". So the printed errors
    count, as if both numbers were independent.
    """
    gap = tables["ukkr"] - tables["kkr"]
    below, above = gap.lt(0).sum(), gap.gt(0).sum()
    equal = len(tables) - below - above
    why = (
        f"as printed, {below} below and {above} above; "
        f"the other {equal} of {len(tables)} columns are equal; with the printed standard errors"
    )
    errors = np.hypot(tables["ukkr" + SE], tables["kkr" + SE])
    level = claims.among(len(gap))
    parts = [
        claims.exact(value, error, (), claims.PAPER, level=level)
        for value, error in zip(gap, errors)
    ]
    return claims.largest(parts, why)


def agreement():
    """Test the share of pairs of estimates of one network in Figure 5 that agree.

    Two estimates agree if the larger is less than 1.5 times the smaller. The interval counts the
    pairs that agree whatever their reading errors (99 %, normal), and those that may agree.
    """
    read = reproduction.reported("gruber2025", ["fig5a", "fig5b"])
    read = read[read["column"].isin(BASES) & read["value"].notna()]
    distances, errors = [], []
    for _, network in read.groupby(["item", "row"]):
        logs, relative = np.log(network["value"]), network["plus_minus"] / network["value"]
        for i, j in itertools.combinations(network.index, 2):
            distances.append(abs(logs[i] - logs[j]))
            errors.append(np.hypot(relative[i], relative[j]))
    distance, reach = np.array(distances), norm.ppf((1 + claims.LEVEL) / 2) * np.array(errors)
    agree, surely, perhaps = (
        (distance + shift < np.log(1.5)).mean() for shift in (0.0, reach, -reach)
    )
    why = (
        f"{len(distance)} pairs of estimates of eight networks, as read from Figure 5 with the "
        "reading error; marks hidden behind others are left out; 1.5 is ours"
    )
    return claims.Statistic(agree, surely, perhaps, claims.PAPER, (), why, len(distance))
