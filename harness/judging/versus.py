"""Answer question 5, which of several models is better, by paired differences on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from harness.common.wording import format_percent
from harness.errors import UndefinedError
from harness.judging.bins import Array, Integers
from harness.judging.findings import Interval, Judged, PairedDifference, Versus
from harness.judging.gain import (
    FEWEST_ROWS,
    INFLATION,
    LABELS,
    cross_fitted,
    draw_rows,
    folds,
    groups_of_rows,
)
from harness.judging.scores import mean_interval, row_scores
from harness.judging.words import capitalise, in_words, join_names

ALL_PAIRS = 5  # with more models, only the first is compared with the others
VECTOR_ROWS = 200  # smallest number of rows per class for vector scaling
QUANTITIES = {
    "error_rate": "error rate",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration": "calibration",
    "refinement": "refinement",
}


def versus(models: Sequence[Judged], level: float, rng: np.random.Generator) -> Versus:
    """Return the paired differences between every two models, first minus second.

    With more than five models, only the first is compared with the others.

    Parameters
    ----------
    models : sequence of Judged
        Two or more models with different names, on the same rows and classes (`data.aligned`).
    level : float
        Level at which all intervals hold together. By Bonferroni's correction, each has level 1 -
        (1 - level) / (5 times the number of pairs).
    rng : numpy.random.Generator
        Generator of the folds, which are the same for all models.

    Returns
    -------
    Versus
        For each pair the differences in five quantities, where smaller is better:

        error_rate    share of rows whose predicted class is wrong
        log_loss      mean log-loss
        brier         mean Brier score
        calibration   the part of the log-loss that recalibration removes
        refinement    the part of the log-loss that recalibration leaves

    Notes
    -----
    Recalibration is cross-fitted on the same five random folds for all models. It is beta
    calibration for two classes. For more classes it is vector scaling if there are 200 rows per
    class, else temperature scaling. The calibration part is in expectation at most the KL error.

    Differences of L1 errors are not reported. If one of the errors is small, 95 % intervals from
    cross-fitted isotonic maps contained the true difference in only 0.77 to 0.9 of the samples.
    Intervals with enough coverage nearly always contained 0.

    Means have t intervals, from the sums over groups if rows come in groups. Those of calibration
    and refinement are 1.5 times as wide (`harness.judging.gain`). The error rate has the interval
    of `matched_interval`. Coverage was measured with six pairs of binary models, n = 100 to 5,000,
    60 to 150 samples each. At level 0.95 it was 0.90 to 0.97 for log-loss and Brier score, and
    0.947 to 1 for calibration (of its KL error), refinement and error rate.

    Examples
    --------
    >>> import harness
    >>> from harness.judging.data import from_arrays
    >>> p, y = harness.load_problem("beta_calibrated").sample(2000, np.random.default_rng(0))
    >>> sharp = p**2 / (p**2 + (1 - p) ** 2)
    >>> models = [from_arrays(p, y, name="a"), from_arrays(sharp, y, name="b")]
    >>> rows = versus(models, 0.95, np.random.default_rng(0)).differences
    >>> [row.better for row in rows]
    [None, 'a', 'a', 'a', None]
    """
    n, k = models[0].n, models[0].k
    rows = draw_rows(models[0], rng)
    fold = folds(len(rows), rng, groups_of_rows(models[0], rows))
    method = "beta" if k == 2 else "vector" if n >= VECTOR_ROWS * k else "temperature"
    values = {model.name: _row_values(model, rows, fold, method) for model in models}
    pairs = model_pairs(models)
    each = 1.0 - (1.0 - level) / (len(QUANTITIES) * len(pairs))
    differences = [
        _difference(quantity, first, second, values, rows, method, level, each)
        for first, second in pairs
        for quantity in QUANTITIES
    ]
    sentence = _pair_sentence if len(models) == 2 else _ranking_sentence
    parts = [sentence(differences, models)]
    if len(rows) < n:
        parts.append(
            f"Calibration and refinement were computed on {len(rows):,} rows, drawn at random."
        )
    parts.append(
        f"The {format_percent(level)} intervals hold for all {len(differences)} differences "
        "together."
    )
    return Versus(" ".join(parts), tuple(differences))


def model_pairs(models: Sequence[Judged]) -> list[tuple[Judged, Judged]]:
    """Return all pairs of models, or with more than five models the pairs with the first one."""
    if len(models) > ALL_PAIRS:
        return [(models[0], other) for other in models[1:]]
    return list(combinations(models, 2))


def _row_values(model: Judged, rows: Integers, fold: Integers, method: str) -> dict[str, Array]:
    """Return {quantity: its value in each row} for one model.

    Calibration and refinement are computed on `rows` only, the other quantities on all rows. If no
    recalibration can be fitted, they are left out.
    """
    log_loss, brier = row_scores(model.p, model.y)
    wrong = model.y != (1 if model.confidences else model.p.argmax(axis=1))
    values = {"error_rate": wrong.astype(np.float64), "log_loss": log_loss, "brier": brier}
    if len(rows) >= FEWEST_ROWS:
        y = model.y[rows]
        try:
            q = cross_fitted(method, model.p[rows], y, model.classes, fold)
        except (UndefinedError, np.linalg.LinAlgError):
            return values
        after = row_scores(q, y)[0]
        values |= {"calibration": log_loss[rows] - after, "refinement": after}
    return values


def _difference(
    quantity: str,
    first: Judged,
    second: Judged,
    values: dict[str, dict[str, Array]],
    rows: Integers,
    method: str,
    level: float,
    each: float,
) -> PairedDifference:
    name = label = QUANTITIES[quantity]
    if quantity == "calibration":
        label = f"calibration: log-loss that {LABELS[method]} removes"
    elif quantity == "refinement":
        label = f"refinement: log-loss that {LABELS[method]} leaves"
    elif quantity == "brier" and first.k > 2:
        label = "Brier score, summed over the classes"
    a, b = values[first.name].get(quantity), values[second.name].get(quantity)
    means: tuple[float | None, float | None] = (None, None)
    interval, better = Interval(None, level=level), None
    both = f"{first.name} and {second.name}"
    if a is None or b is None:
        sentence = f"{capitalise(name)}: no recalibration can be fitted on {first.n:,} rows."
    else:
        means = float(a.mean()), float(b.mean())
        d = a - b
        if quantity == "error_rate" and first.row_groups is None:
            interval = matched_interval(int((d > 0).sum()), int((d < 0).sum()), len(d), level, each)
        else:
            is_fitted = quantity in ("calibration", "refinement")
            row_groups = groups_of_rows(first, rows) if is_fitted else first.row_groups
            interval = mean_interval(d, level, each, INFLATION if is_fitted else 1.0, row_groups)
        if interval.sign:
            better = first.name if interval.sign < 0 else second.name
            sentence = f"{better} is better in {name} by {in_words(interval, is_difference=True)}."
        elif not d.any():
            sentence = f"{both} have the same {name} on every row."
        else:
            sentence = (
                f"{both} cannot be told apart in {name} with {len(d):,} rows; the difference is "
                f"{in_words(interval)}."
            )
    return PairedDifference(
        first.name, second.name, quantity, label, *means, interval, better, sentence
    )


def matched_interval(
    only_first: int, only_second: int, n: int, level: float, each: float
) -> Interval:
    """Return the difference of two event rates on the same n rows, with its interval.

    `only_first` and `only_second` are the numbers of rows in which only the first, or only the
    second, has the event. 1/2 is added to each. The interval is computed at level `each`. It is
    labelled with `level`, at which several such intervals hold together.

    References
    ----------
    Agresti and Min (2005), Simple improved confidence intervals for comparing matched proportions,
    Stat. Medicine 24, 729-740.

    Examples
    --------
    >>> interval = matched_interval(30, 10, 1000, 0.95, 0.95)
    >>> interval.value, round(interval.low, 4), round(interval.high, 4)
    (0.02, 0.0075, 0.0324)
    """
    b, c, m = only_first + 0.5, only_second + 0.5, n + 2.0
    middle = (b - c) / m
    half = float(ndtri(0.5 + each / 2.0)) * float(np.sqrt(max((b + c) - (b - c) ** 2 / m, 0.0))) / m
    value = (only_first - only_second) / n
    low, high = max(min(middle - half, value), -1.0), min(max(middle + half, value), 1.0)
    return Interval(value, low, high, level)


def _pair_sentence(differences: list[PairedDifference], models: Sequence[Judged]) -> str:
    """Return a sentence on what one of two models is better in, and on what remains open."""
    clauses = []
    for model in models:
        gains = [
            f"{QUANTITIES[row.quantity]} by {in_words(row.difference, is_difference=True)}"
            for row in differences
            if row.better == model.name
        ]
        if gains:
            clauses.append(f"{model.name} is better in {join_names(gains)}")
    same = [QUANTITIES[row.quantity] for row in differences if row.better is None]
    if same:
        subject = "they" if clauses else f"{models[0].name} and {models[1].name}"
        clauses.append(
            f"{subject} cannot be told apart in {join_names(same)} with {models[0].n:,} rows"
        )
    return "; ".join(clauses) + "."


def _ranking_sentence(differences: list[PairedDifference], models: Sequence[Judged]) -> str:
    """Return a sentence on which of three or more models are better in log-loss."""
    rows = [row for row in differences if row.quantity == "log_loss" and row.better]
    wins = Counter(row.better for row in rows)
    best, count = wins.most_common(1)[0] if wins else (None, 0)
    if best is None:
        text = (
            f"None of the {len(models)} models is shown to be better than another in log-loss with "
            f"{models[0].n:,} rows."
        )
    elif count == len(models) - 1:
        text = f"{best} is better in log-loss than all others."
    else:
        pairs = [
            f"{row.better} than {row.second if row.better == row.first else row.first}"
            for row in rows
        ]
        text = (
            f"In log-loss, better are {join_names(pairs)}; the other pairs cannot be told apart "
            f"with {models[0].n:,} rows."
        )
    if len(models) > ALL_PAIRS:
        text += f" With more than {ALL_PAIRS} models, only the first is compared with the others."
    return text
