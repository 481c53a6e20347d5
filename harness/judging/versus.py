"""Answer question 5, which of several models is better, by paired differences on the same rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from harness.common.wording import format_count, format_number, format_percent
from harness.errors import UndefinedError
from harness.estimators.calibration_line import FEWEST_EVENTS
from harness.judging.bins import Array, Integers
from harness.judging.findings import PairedDifference, Versus
from harness.judging.gain import (
    FEWEST_ROWS,
    INFLATION,
    LABELS,
    cross_fitted,
    draw_rows,
    folds,
    groups_of_rows,
)
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.scores import (
    count_units,
    effective_groups,
    implied_deviation,
    independent_units,
    mean_interval,
    row_scores,
    scarce_outcomes,
    score_table,
)
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

    Means have t intervals, from the sums over groups if rows come in groups. As in
    `harness.judging.gain`, their standard deviation is at least the one that follows if the
    recalibrated predictions of a model were right. Those of calibration and refinement are 1.5
    times as wide. The error rate has the interval of `matched_interval`, or of
    `clustered_interval` if rows come in groups. If a label had probability 0, the log-loss of the
    model is infinite. No model is then called better in log-loss, because the rows cannot show
    whether the expected log-loss of the other one is finite. If only one of two models gives some
    labels probability 0 and none of them occurred, the interval is infinite on the side on which
    this model is worse: rows without such a label do not exclude it.

    Coverage was measured with six pairs of binary models, n = 100 to 5,000, 60 to 150 samples each.
    At level 0.95 it was 0.90 to 0.97 for log-loss and Brier score, and 0.947 to 1 for calibration
    (of its KL error), refinement and error rate.

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
    values, tables = {}, {}
    for model in models:
        values[model.name], tables[model.name] = _scores(model, rows, fold, method)
    pairs = model_pairs(models)
    each = 1.0 - (1.0 - level) / (len(QUANTITIES) * len(pairs))
    differences = [
        _difference(quantity, first, second, values, tables, rows, method, level, each)
        for first, second in pairs
        for quantity in QUANTITIES
    ]
    infinite = {
        name: count
        for name, row_values in values.items()
        if (count := int(np.isinf(row_values["log_loss"]).sum()))
    }
    sentence = _pair_sentence if len(models) == 2 else _ranking_sentence
    parts = [sentence(differences, models)]
    if infinite:
        names = [f"{name} ({format_count(count, 'row')})" for name, count in infinite.items()]
        parts.append(
            f"The log-loss of {join_names(names)} is infinite, and with it the part that is due to "
            "miscalibration: the label that occurred had probability 0."
        )
    parts += [model.note for model in models if model.note]
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


def _scores(
    model: Judged, rows: Integers, fold: Integers, method: str
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return {quantity: its value in each row}, and {quantity: its value for each possible label}.

    Calibration and refinement are computed on `rows` only, the other quantities on all rows. If no
    recalibration can be fitted, they are left out. A log-loss may be infinite.

    The tables (rows, k) are of `rows` only. That of "recalibrated" holds the recalibrated
    probabilities, or those of the model if no recalibration can be fitted.
    """
    log_loss, brier = row_scores(model.p, model.y)
    wrong = model.y != (1 if model.confidences else model.p.argmax(axis=1))
    values = {"error_rate": wrong.astype(np.float64), "log_loss": log_loss, "brier": brier}
    p, y = model.p[rows], model.y[rows]
    before, brier = score_table(p)
    tables = {"recalibrated": p, "log_loss": before, "brier": brier}
    if len(rows) < FEWEST_ROWS:
        return values, tables
    try:
        q = cross_fitted(method, p, y, model.classes, fold)
    except (UndefinedError, np.linalg.LinAlgError):
        return values, tables
    after = score_table(q)[0]
    with np.errstate(invalid="ignore"):  # infinity minus infinity has no value
        tables |= {"recalibrated": q, "refinement": after, "calibration": before - after}
    occurred = np.arange(len(y)), y
    values |= {name: tables[name][occurred] for name in ("calibration", "refinement")}
    # what a map leaves of an infinite loss depends on where it replaces a probability of 0
    values["refinement"] = np.where(np.isinf(before[occurred]), np.nan, values["refinement"])
    return values, tables


def _possible_ends(
    interval: Interval, quantity: str, first: dict[str, Array], second: dict[str, Array]
) -> Interval:
    """Return the interval with an infinite end where a possible label has an infinite difference.

    `first` and `second` are the tables of `_scores`.
    """
    if not _is_finite(interval):
        return interval
    with np.errstate(invalid="ignore"):
        d = first[quantity] - second[quantity]
    if (d == -math.inf).any():
        interval = interval.including(-math.inf)
    return interval.including(math.inf) if (d == math.inf).any() else interval


def _implied_deviation(
    quantity: str, first: dict[str, Array], second: dict[str, Array], units: float | None
) -> float:
    """Return the standard deviation of a row's difference if a recalibrated model were right.

    `first` and `second` are the tables of `_scores`. The larger of the two deviations counts.
    """
    with np.errstate(invalid="ignore"):
        d = first[quantity] - second[quantity]
    return max(implied_deviation(d, table["recalibrated"], units) for table in (first, second))


def _difference(
    quantity: str,
    first: Judged,
    second: Judged,
    values: dict[str, dict[str, Array]],
    tables: dict[str, dict[str, Array]],
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
        sentence = f"{capitalise(name)}: no recalibration can be fitted on {first.rows}."
    else:
        means = mean_interval(a, level, each).value, mean_interval(b, level, each).value
        with np.errstate(invalid="ignore"):
            d = np.zeros(len(a)) if np.array_equal(a, b, equal_nan=True) else a - b
        if quantity == "error_rate" and first.row_groups is not None:
            interval = clustered_interval(d, first.row_groups, level, each)
        elif quantity == "error_rate":
            interval = matched_interval(int((d > 0).sum()), int((d < 0).sum()), len(d), level, each)
        else:
            is_fitted = quantity in ("calibration", "refinement")
            row_groups = groups_of_rows(first, rows) if is_fitted else first.row_groups
            units = independent_units([first, second], row_groups)
            least = _implied_deviation(quantity, tables[first.name], tables[second.name], units)
            inflation = INFLATION if is_fitted else 1.0
            interval = mean_interval(d, level, each, inflation, row_groups, least)
            interval = _possible_ends(interval, quantity, tables[first.name], tables[second.name])
        if not d.any():
            sentence = f"{both} have the same {name} on every row."
        elif interval.value is None or math.isinf(interval.value):
            sentence = _infinite_sentence(label.split(": ")[-1], first, second, means)
        elif interval.sign:
            better = first.name if interval.sign < 0 else second.name
            sentence = f"{better} is better in {name} by {in_words(interval, is_difference=True)}."
        else:
            sentence = (
                f"{both} cannot be told apart in {name} with {len(d):,} rows; the difference is "
                f"{in_words(interval)}."
            )
            if math.inf in (-(interval.low or 0.0), interval.high):
                one = first.name if interval.high == math.inf else second.name
                sentence += f" {one} gives probability 0 to labels that did not occur here."
    return PairedDifference(
        first.name, second.name, quantity, label, *means, interval, better, sentence
    )


def _infinite_sentence(
    label: str, first: Judged, second: Judged, means: tuple[float | None, float | None]
) -> str:
    """Return a sentence on two means, of which at least one is infinite or undefined (None)."""
    names: dict[float | None, str] = {math.inf: "infinite", None: "undefined"}
    texts = [names.get(mean) or format_number(mean) for mean in means]
    if texts[0] == texts[1]:
        return f"The {label} is {texts[0]} for {first.name} and {second.name}."
    return f"The {label} is {texts[0]} for {first.name} and {texts[1]} for {second.name}."


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


def clustered_interval(d: Array, row_groups: Integers, level: float, each: float) -> Interval:
    """Return the mean of d (n,) in {-1, 0, 1}, the difference of two event rates, by row groups.

    The interval is that of `mean_interval`. If fewer than 10 groups have a row that differs, these
    do not show how often a group differs, nor how far its rows depend on one another. As in
    `matched_interval`, a group of the usual size, n / `effective_groups`, is then added, half of it
    with +1 and half with -1.

    Examples
    --------
    >>> interval = clustered_interval(np.zeros(200), np.repeat(np.arange(100), 2), 0.95, 0.95)
    >>> interval.value, round(interval.low, 3), round(interval.high, 3)
    (0.0, -0.02, 0.02)
    """
    n, least = len(d), 0.0
    if count_units(d != 0.0, row_groups) < FEWEST_EVENTS:
        sums = np.bincount(row_groups, d - d.mean())
        size = n / effective_groups(row_groups)
        least = math.sqrt((float((sums**2).sum()) + size**2) / n)
    interval = mean_interval(d, level, each, row_groups=row_groups, least=least)
    if interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=max(interval.low, -1.0), high=min(interval.high, 1.0))


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
    same = [
        QUANTITIES[row.quantity]
        for row in differences
        if row.better is None and _is_finite(row.difference)
    ]
    if same:
        subject = "they" if clauses else f"{models[0].name} and {models[1].name}"
        scarce = scarce_outcomes(models)
        clauses.append(
            f"{subject} cannot be told apart in {join_names(same)} with {models[0].rows}"
            + (f", which have too few {scarce}" if scarce else "")
        )
    return "; ".join(clauses) + "."


def _ranking_sentence(differences: list[PairedDifference], models: Sequence[Judged]) -> str:
    """Return a sentence on which of three or more models are better in log-loss."""
    rows = [row for row in differences if row.quantity == "log_loss"]
    won = [row for row in rows if row.better]
    is_open = any(row.better is None and _is_finite(row.difference) for row in rows)
    wins = Counter(row.better for row in won)
    best, count = wins.most_common(1)[0] if wins else (None, 0)
    if best is None:
        text = (
            f"None of the {len(models)} models is shown to be better than another in log-loss with "
            f"{models[0].rows}."
        )
    elif count == len(models) - 1:
        text = f"{best} is better in log-loss than all others."
    else:
        pairs = [
            f"{row.better} than {row.second if row.better == row.first else row.first}"
            for row in won
        ]
        text = f"In log-loss, better are {join_names(pairs)}"
        if is_open:
            text += f"; the other pairs cannot be told apart with {models[0].rows}"
        text += "."
    if len(models) > ALL_PAIRS:
        text += f" With more than {ALL_PAIRS} models, only the first is compared with the others."
    return text


def _is_finite(difference: Interval) -> bool:
    return difference.value is not None and math.isfinite(difference.value)
