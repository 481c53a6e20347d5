"""Which of several models is better: paired differences on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from harness.common.wording import decimals_of, format_percent
from harness.errors import BadInputError, UndefinedError
from harness.judging.findings import Interval, Judged, PairedDifference, Versus
from harness.judging.gain import (
    FEWEST,
    INFLATION,
    LABELS,
    cross_fitted,
    folds,
    most_rows,
    paired_mean,
    scores,
)

Rows = dict[str, NDArray[np.float64]]


ALL_PAIRS = 5  # models; of more, each is compared with the first
VECTOR_ROWS = 200  # rows per class from which on each class has coefficients of its own
QUANTITIES = ("error_rate", "log_loss", "brier", "calibration", "refinement")
WORDS = {
    "error_rate": "error rate", "log_loss": "log-loss", "brier": "Brier score", "calibration": "calibration",
    "refinement": "refinement",
}  # fmt: skip


def versus(models: Sequence[Judged], level: float, rng: object) -> Versus:
    """Paired differences of every two models (of more than five: of the first and each other), first minus second.

    Parameters
    ----------
    models : sequence of Judged
        Two or more, of the same rows. Classes in another order are put into the order of the first.
    level : float
        At which all intervals hold together: each has 1 - (1 - level) / (5 times the number of pairs), Bonferroni's.
    rng : numpy.random.Generator or int
        What the folds are drawn from, the same for all models.

    Returns
    -------
    Versus
        For each pair the differences in error_rate (of the most likely class; of confidences, the rate of wrong predictions),
        log_loss, brier, calibration (the log-loss that recalibration takes away), refinement (the log-loss that it leaves):
        log_loss = calibration + refinement. All are the better the smaller.

    Raises
    ------
    BadInputError
        Where the models are not of the same rows: the number of rows, the classes, or the first row whose label differs.

    Notes
    -----
    Recalibration is cross-fitted on the same five random folds: beta calibration of two classes, vector scaling of more if there
    are 200 rows per class, else temperature scaling. Calibration is thus what this map reveals, at most the KL error in
    expectation. A difference of L1 errors was tried and left out: from cross-fitted isotonic maps its 95 % interval covered
    0.77 to 0.9 where one error is small, and one that covers told hardly any two models apart.

    Means have t intervals, those of calibration and refinement 1.5 times as wide (as in `harness.judging.gain`). The error rate's
    is of the counts of rows that one model alone has right, with 1/2 added to each (Agresti and Min 2005). Alone, at 0.95, those
    of log-loss and Brier score covered 0.90 to 0.97 of 60 to 150 samples (six pairs of binary models, n = 100 to 5,000), those of
    calibration (its KL error), refinement and error rate 0.947 to 1.

    References
    ----------
    Agresti and Min (2005), Simple improved confidence intervals for comparing matched proportions, Stat. Medicine 24, 729-740.

    Examples
    --------
    >>> import harness
    >>> from harness.judging.findings import Judged
    >>> p, y = harness.load_problem("beta_calibrated").sample(2000, np.random.default_rng(0))
    >>> sharp = p**2 / (p**2 + (1 - p) ** 2)
    >>> first, second = (Judged(name, np.column_stack([1 - x, x]), y, ("no", "yes")) for name, x in (("a", p), ("b", sharp)))
    >>> [(one.quantity, one.better) for one in versus([first, second], 0.95, 0).differences]
    [('error_rate', None), ('log_loss', 'a'), ('brier', 'a'), ('calibration', 'a'), ('refinement', None)]
    """
    if len(models) < 2:
        raise BadInputError(f"models holds {len(models)}; two or more are needed to compare.")
    if len({model.name for model in models}) < len(models):
        models = [replace(model, name=f"{model.name} ({i})") for i, model in enumerate(models, 1)]
    same = [models[0], *(aligned(models[0], other) for other in models[1:])]
    stream = np.random.default_rng(rng)  # type: ignore[arg-type]
    n, k = same[0].n, same[0].k
    most = most_rows(k)
    rows = np.arange(n) if n <= most else np.sort(stream.choice(n, most, replace=False))
    fold = folds(len(rows), stream)
    method = "beta" if k == 2 else "vector" if n >= VECTOR_ROWS * k else "temperature"
    parts = [_parts(one, rows, fold, method) for one in same]
    pairs = (
        list(combinations(range(len(same)), 2))
        if len(same) <= ALL_PAIRS
        else [(0, j) for j in range(1, len(same))]
    )
    each = 1.0 - (1.0 - level) / (len(QUANTITIES) * len(pairs))
    found = [
        _difference(quantity, same[i], same[j], parts[i], parts[j], method, level, each)
        for i, j in pairs
        for quantity in QUANTITIES
    ]
    return Versus(_sentence(found, same, level, len(rows), n, len(same) > ALL_PAIRS), tuple(found))


def aligned(first: Judged, other: Judged) -> Judged:
    """`other` with its classes in the order of `first`; BadInputError where the two are not of the same rows."""
    pair = f"{first.name} and {other.name}"
    if first.confidences != other.confidences:
        one, two = (first, other) if first.confidences else (other, first)
        raise BadInputError(
            f"{one.name} holds confidences and {two.name} probabilities of classes; both must be of one kind."
        )
    if first.n != other.n:
        raise BadInputError(
            f"{pair} have {first.n:,} and {other.n:,} rows; the same rows in the same order are needed."
        )
    if first.confidences:  # y says whether each model was right: it may differ
        return other
    if first.k != other.k:
        raise BadInputError(
            f"{pair} have {first.k} and {other.k} classes; the same classes are needed."
        )
    if set(first.classes) != set(other.classes):
        extra = sorted(set(other.classes) - set(first.classes))
        raise BadInputError(
            f"{pair} have other classes: {extra[0]!r} of {other.name} is not in {first.name}."
        )
    if first.classes != other.classes:
        order = [other.classes.index(name) for name in first.classes]
        place = np.argsort(order)
        other = replace(
            other, p=other.p[:, order], y=place[other.y].astype(np.int64), classes=first.classes
        )
    different = np.flatnonzero(first.y != other.y)
    if len(different):
        i = int(different[0])
        one, two = first.classes[first.y[i]], other.classes[other.y[i]]
        raise BadInputError(
            f"{pair} have different labels in {len(different):,} of {first.n:,} rows, first in row {i + 1} ({one!r} and "
            f"{two!r}); the same rows in the same order are needed."
        )
    return other


def _parts(data: Judged, rows: NDArray[np.intp], fold: NDArray[np.int64], method: str) -> Rows:
    """Per-row values of every quantity: calibration and refinement of `rows`, the others of all."""
    log_loss, brier = scores(data.p, data.y)
    wrong = (data.y != 1) if data.confidences else (data.p.argmax(axis=1) != data.y)
    found = {"error_rate": wrong.astype(np.float64), "log_loss": log_loss, "brier": brier}
    if len(rows) >= FEWEST:
        try:
            y = data.y[rows]
            after = scores(cross_fitted(method, data.p[rows], y, data.classes, fold), y)[0]
        except (UndefinedError, np.linalg.LinAlgError):
            return found
        found |= {"calibration": log_loss[rows] - after, "refinement": after}
    return found


def _difference(
    quantity: str, first: Judged, second: Judged, a: Rows, b: Rows, method: str, level: float, each: float
) -> PairedDifference:  # fmt: skip
    label = WORDS[quantity]
    if quantity == "calibration":
        label = f"calibration: log-loss that {LABELS[method]} takes away"
    elif quantity == "refinement":
        label = f"refinement: log-loss that {LABELS[method]} leaves"
    elif quantity == "brier" and first.k > 2:
        label = "Brier score, summed over the classes"
    names = f"{first.name} and {second.name}"
    if quantity not in a or quantity not in b:
        sentence = f"{_capital(WORDS[quantity])}: with {first.n:,} rows no recalibration can be fitted, and nothing can be said."
        return PairedDifference(
            first.name,
            second.name,
            quantity,
            label,
            None,
            None,
            Interval(None, None, None, level),
            None,
            sentence,
        )
    d = a[quantity] - b[quantity]
    if quantity == "error_rate":
        interval = matched(int((d > 0).sum()), int((d < 0).sum()), len(d), level, each)
    else:
        interval = paired_mean(
            d, level, each, INFLATION if quantity in ("calibration", "refinement") else 1.0
        )
    better = None
    if interval.high is not None and interval.high < 0.0:
        better = first.name
    elif interval.low is not None and interval.low > 0.0:
        better = second.name
    n = len(d)
    if better is not None:
        sentence = f"{better} is better in {WORDS[quantity]} by {_by(interval)}."
    elif not d.any():
        sentence = f"{_capital(WORDS[quantity])} of {names} is the same on every row."
    else:
        span = "" if interval.low is None else f" (difference {_signed(interval)})"
        sentence = (
            f"{_capital(WORDS[quantity])} of {names} cannot be told apart at n = {n:,}{span}."
        )
    means = float(a[quantity].mean()), float(b[quantity].mean())
    return PairedDifference(
        first.name, second.name, quantity, label, *means, interval, better, sentence
    )


def matched(only_first: int, only_second: int, n: int, level: float, at: float) -> Interval:
    """The difference of two rates on the same n rows, from the counts of rows where one alone has the event, with an interval of
    level `at`, said to hold at `level`.

    Examples
    --------
    >>> found = matched(30, 10, 1000, 0.95, 0.95)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.02, 0.0075, 0.0324)
    """
    b, c, m = only_first + 0.5, only_second + 0.5, n + 2.0
    middle = (b - c) / m
    half = float(ndtri(0.5 + at / 2.0)) * float(np.sqrt(max((b + c) - (b - c) ** 2 / m, 0.0))) / m
    value = (only_first - only_second) / n
    return Interval(
        value, max(min(middle - half, value), -1.0), min(max(middle + half, value), 1.0), level
    )


def _sentence(
    found: list[PairedDifference],
    models: list[Judged],
    level: float,
    used: int,
    n: int,
    first_only: bool,
) -> str:
    parts = []
    together = (
        f"The {format_percent(level)} intervals hold for all {len(found)} differences together."
    )
    if len(models) == 2:
        parts.append(_of_two(found, models, n))
    else:
        wins = [one for one in found if one.better is not None and one.quantity == "log_loss"]
        counts = {model.name: sum(one.better == model.name for one in wins) for model in models}
        best = max(counts, key=lambda name: counts[name])
        against = "the first" if first_only else "every other"
        if not wins:
            parts.append(
                f"None of the {len(models)} models is shown to be better than another in log-loss at n = {n:,}."
            )
        elif counts[best] == len(models) - 1:
            parts.append(
                f"{best} is better in log-loss than {'all others' if first_only else against}."
            )
        else:
            pairs = [
                f"{one.better} than {one.second if one.better == one.first else one.first}"
                for one in wins
            ]
            parts.append(
                f"In log-loss, better are {_listed(pairs, 6)}; the other pairs cannot be told apart at n = {n:,}."
            )
        if first_only:
            parts.append(
                f"Of more than {ALL_PAIRS} models, only the first was compared with the others."
            )
    if used < n:
        parts.append(f"Calibration and refinement are of {used:,} rows drawn at random.")
    return " ".join([*parts, together])


def _of_two(found: list[PairedDifference], models: list[Judged], n: int) -> str:
    """Who is better in what, by how much, and what cannot be told."""
    clauses = []
    for model in models:
        won = [
            f"{WORDS[one.quantity]} by {_by(one.difference)}"
            for one in found
            if one.better == model.name
        ]
        if won:
            clauses.append(f"{model.name} is better in {_listed(won)}")
    same = [WORDS[one.quantity] for one in found if one.better is None]
    if same and clauses:
        clauses.append(f"their {_listed(same)} cannot be told apart at n = {n:,}")
    elif same:
        clauses.append(
            f"{models[0].name} and {models[1].name} cannot be told apart at n = {n:,}: not in {_listed(same)}"
        )
    return "; ".join(clauses) + "."


def _by(one: Interval) -> str:
    """The size of a difference that is not 0."""
    digits, ends = _digits(one), sorted((abs(one.low or 0.0), abs(one.high or 0.0)))
    return f"{abs(one.value or 0.0):.{digits}f} ({ends[0]:.{digits}f} to {ends[1]:.{digits}f})"


def _signed(one: Interval) -> str:
    digits = _digits(one)
    return f"{one.value:.{digits}f}, {one.low:.{digits}f} to {one.high:.{digits}f}"


def _digits(one: Interval) -> int:
    return decimals_of((one.high or 0.0) - (one.low or 0.0))


def _listed(names: list[str], most: int = 8) -> str:
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
