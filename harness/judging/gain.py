"""Answer question 4, what recalibration would gain, by cross-fitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import harness.calibrators
from harness.calibrators.isotonic import knots
from harness.common.wording import format_count, format_percent
from harness.errors import UndefinedError
from harness.judging.bins import Array, Integers
from harness.judging.findings import Gain, Gains
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.saved import FittedMap
from harness.judging.scores import (
    implied_deviation,
    independent_units,
    infinite_loss,
    mean_interval,
    row_scores,
    scarce_outcomes,
    score_table,
)
from harness.judging.words import capitalise, in_words

FOLDS = 5
# Factor on the width of intervals of cross-fitted means (Nadeau and Bengio 2003), see `gains`.
INFLATION = float(np.sqrt(1.0 + FOLDS / (FOLDS - 1.0)))
ROUNDING = 1e-12  # relative width below which an interval is no interval
FEWEST_ROWS = 20  # with fewer rows no map is fitted
MOST_ENTRIES = 1_000_000  # largest number of rows times classes on which maps are cross-fitted
FEWEST_DRAWN = 3_000  # smallest number of rows that are drawn, for any number of classes
MOST_CLASSES = {"matrix": 30, "vector": 200}  # with more classes a fit takes minutes
LABELS = {
    "temperature": "temperature scaling",
    "vector": "vector scaling",
    "matrix": "matrix scaling",
    "isotonic": "isotonic regression",
    "platt": "Platt scaling",
    "beta": "beta calibration",
}
BINARY = ("temperature", "platt", "beta", "isotonic")
MULTICLASS = ("temperature", "vector", "matrix", "isotonic")


def gains(data: Judged, level: float, rng: np.random.Generator) -> Gains:
    """Return cross-fitted gains in log-loss and Brier score, and the best map fitted on all rows.

        gain = mean over rows i of  score(p_i, y_i) - score(q_i, y_i)

    p_i is the prediction and y_i the label of row i. q_i is the recalibrated prediction, from a
    map that was fitted on the folds without row i. For two classes the maps are temperature,
    platt, beta and isotonic. For more classes they are temperature, vector, matrix and isotonic.

    Parameters
    ----------
    data : Judged
        The predictions.
    level : float
        Level at which the intervals of all methods hold together, for each of the two scores.
        Each interval has level 1 - (1 - level) / (number of methods).
    rng : numpy.random.Generator
        Generator of the folds, which are the same for all methods.

    Returns
    -------
    Gains
        The gains of all methods. With fewer than 20 rows or equal outcomes there are none.

    Notes
    -----
    If rows come in groups, folds consist of whole groups, and s comes from the sums over groups. If
    fewer than 10 groups have an event or error, the drawn labels are equal within each group.

    The five folds are random and not stratified by class. With stratified folds, the class
    frequencies of the held-out rows would equal those of the fitted rows. This would show a gain
    of about 1 / n that does not exist.

    The interval is gain +- t s c / sqrt(n) for n rows. Here t is the quantile of Student's t
    distribution. s is the standard deviation of the gains of the rows, but at least the one that
    they would have if labels were drawn from q. Rows without an error or without an event show no
    spread, although the gain depends on how rare these are. The ridge of `fit` keeps q from
    excluding them. c^2 = 1 + 5 / 4 = 2.25 (Nadeau and Bengio 2003) accounts for the dependence
    between folds, whose maps are fitted on common rows. The interval is for the expected gain, on
    new rows, of maps fitted on 4/5 of these rows. The map fitted on all rows gains a little more.

    If no spread is known, as for decisions of 0 and 1 that are all right, the gain has no ends.

    Coverage at level 0.95 was measured with 100 to 200 samples per case: four methods; calibrated,
    shifted and overconfident binary scores; n = 100 to 5,000. It was 0.945 to 1, and 0.80 to 0.96
    with c = 1. With three classes and 80 samples per case it was 0.925 to 1. All four methods held
    together in 0.92 of 400 samples with n = 200, uniform p and a slope of 0.7. With p = 10^-6 for
    half of the rows, of which 1 % have an event, log-loss gains held in 0.77: a row costs 14 there.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281,
    Section 3.

    Examples
    --------
    >>> import harness
    >>> from harness.judging.data import from_arrays
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> answer = gains(from_arrays(p, y), 0.95, np.random.default_rng(1))
    >>> answer.best, answer.fitted(np.array([0.02, 0.5, 0.98])).round(1)
    ('platt', array([0.2, 0.6, 0.9]))
    """
    if data.row_groups is not None and data.row_groups.max() + 1 < FOLDS:
        return Gains(f"Fewer than {FOLDS} {data.units} cannot be cross-fitted.", (), None)
    if data.given < FEWEST_ROWS:
        sentence = (
            "No recalibration map can be fitted and judged with "
            f"{format_count(data.given, 'row')}; {FEWEST_ROWS} are needed."
        )
        return Gains(sentence, (), None)
    if data.y.min() == data.y.max():
        sentence = "All outcomes are equal, and recalibration is learned from different ones."
        return Gains(sentence, (), None)
    rows = draw_rows(data, rng)
    p, y = data.p[rows], data.y[rows]
    row_groups = groups_of_rows(data, rows)
    fold = folds(len(y), rng, row_groups)
    methods = BINARY if data.k == 2 else MULTICLASS
    each = 1.0 - (1.0 - level) / len(methods)
    occurred, units = (np.arange(len(y)), y), independent_units([data], row_groups)
    answers = []
    for method in methods:
        reason: str | None = None
        most = MOST_CLASSES.get(method, data.k)
        try:
            if data.k > most:
                raise UndefinedError(f"a fit with more than {most} classes would take minutes")
            q = cross_fitted(method, p, y, data.classes, fold)
            with np.errstate(invalid="ignore"):  # infinity minus infinity has no value
                tables = (a - b for a, b in zip(score_table(p), score_table(q)))
                log_loss, brier = (
                    mean_interval(
                        d[occurred],
                        level,
                        each,
                        INFLATION,
                        row_groups,
                        implied_deviation(d, q, units),
                    )
                    for d in tables
                )
            if log_loss.value is None:
                reason = "The log-loss is infinite before and after this recalibration."
            elif _has_no_width(log_loss) or _has_no_width(brier):
                reason = "All rows have the same gain, so that its interval is unknown."
                log_loss, brier = _without_false_ends(log_loss), _without_false_ends(brier)
        except (UndefinedError, np.linalg.LinAlgError) as error:
            log_loss = brier = Interval(None, level=level)
            reason = f"no map can be fitted: {error}."
        answers.append(Gain(method, LABELS[method], log_loss, brier, reason))
    best = choose_best(answers)
    fitted = None
    if best is not None:
        rows = draw_rows(data, rng)
        fitted = fit(best.method, data.p[rows], data.y[rows], data.classes)
    sentence = _sentence(answers, best, row_scores(p, y)[0], data, len(y), level)
    return Gains(sentence, tuple(answers), best.method if best else None, fitted)


def _has_no_width(gain: Interval) -> bool:
    """Return True if the ends of an interval differ by rounding alone; False without ends."""
    if gain.value is None or gain.low is None or gain.high is None or np.isinf(gain.value):
        return False
    return gain.high - gain.low <= ROUNDING * abs(gain.value)


def _without_false_ends(gain: Interval) -> Interval:
    """Return an interval without ends if they would be its value."""
    return Interval(gain.value, level=gain.level) if _has_no_width(gain) else gain


def cross_fitted(
    method: str, p: Array, y: Integers, classes: tuple[str, ...], fold: Integers
) -> Array:
    """Return q (n, k), where row i comes from a map that was fitted on the other folds.

    `fold` (n,) is the fold of each row.
    """
    q = np.empty_like(p)
    for j in range(FOLDS):
        held_out = fold == j
        q[held_out] = fit(method, p[~held_out], y[~held_out], classes)(p[held_out])
    return q


def folds(n: int, rng: np.random.Generator, row_groups: Integers | None = None) -> Integers:
    """Return a random fold in 0..4 for each of n rows, in equal shares.

    The rows of each of the groups 0..G-1 in `row_groups` share a fold.
    """
    if row_groups is None:
        return rng.permutation(np.arange(n) % FOLDS)
    return folds(int(row_groups.max()) + 1, rng)[row_groups]


def groups_of_rows(data: Judged, rows: Integers) -> Integers | None:
    """Return the groups of some rows as numbers 0..G-1 without gaps; None for independent rows."""
    if data.row_groups is None:
        return None
    index: Integers = np.unique(data.row_groups[rows], return_inverse=True)[1]
    return index


def most_rows(k: int) -> int:
    """Return the largest number of rows on which maps of k classes are cross-fitted."""
    return max(MOST_ENTRIES // k, FEWEST_DRAWN)


def draw_rows(data: Judged, rng: np.random.Generator) -> Integers:
    """Return the positions of the rows on which maps are fitted, in ascending order.

    These are all rows, or a random subset if there are more than `most_rows`.
    """
    most = most_rows(data.k)
    if data.n <= most:
        return np.arange(data.n)
    return np.sort(rng.choice(data.n, most, replace=False))


def fit(method: str, p: Array, y: Integers, classes: tuple[str, ...]) -> FittedMap:
    """Fit the map of a method on p (n, k) and labels y (n,).

    All coefficients of a linear map have a ridge of 1 / n towards the identity, which is a normal
    prior of variance 1. It matters if few labels contradict the predictions: a slope of any size
    then fits the rows, but the rows do not support it.
    """
    calibrators: Any = harness.calibrators
    k, ridge = p.shape[1], 1.0 / len(y)
    scores = p[:, 1] if k == 2 else p
    parameters: dict[str, Any]
    if method == "temperature":
        parameters = {"beta": np.array(calibrators.Temperature().slope(scores, y, ridge))}
    elif method == "platt":
        parameters = dict(zip("ab", calibrators.Platt().coefficients(scores, y, ridge)))
    elif method == "beta":
        parameters = dict(zip("abc", calibrators.BetaCalibration().coefficients(scores, y, ridge)))
    elif method == "vector":
        parameters = dict(zip("wb", calibrators.VectorScaling().coefficients(p, y, ridge)))
    elif method == "matrix":
        coefficients = calibrators.MatrixScaling().coefficients(p, y, ridge)
        parameters = {"W": coefficients[:, :-1], "b": coefficients[:, -1]}
    else:
        columns = [1] if k == 2 else range(k)
        curves = [_isotonic_curve(p[:, j], (y == j).astype(np.float64)) for j in columns]
        parameters = {"x": [x for x, _ in curves], "y": [v for _, v in curves]}
    return FittedMap(method, k, classes, len(y), parameters)


def _isotonic_curve(x: Array, hit: Array) -> tuple[Array, Array]:
    """Return the knots of the isotonic regression of hit on x, and its values in [0, 1]."""
    order = np.argsort(x, kind="stable")
    scores, values = knots(x[order], hit[order])
    return scores, np.clip(values, 0.0, 1.0)


def choose_best(gains: Sequence[Gain]) -> Gain | None:
    """Return the recommended gain, or None if no interval in either score is above 0.

    Methods that make neither score significantly worse come first. Among them, those with a
    significant gain in log-loss come first, then those with one in the Brier score. The largest
    gain counts.
    """
    shown = [gain for gain in gains if max(gain.log_loss.sign, gain.brier.sign) > 0]

    def rank(gain: Gain) -> tuple[bool, bool, float]:
        harmless = min(gain.log_loss.sign, gain.brier.sign) >= 0
        score = gain.log_loss if gain.log_loss.sign > 0 else gain.brier
        return harmless, gain.log_loss.sign > 0, score.value or 0.0

    return max(shown, key=rank, default=None)


def largest_in(score: str, gains: Sequence[Gain]) -> Gain | None:
    """Return the gain that is largest in a score, "log_loss" or "brier"; None without values.

    Of equal gains, such as infinite ones, the one with the larger gain in Brier score is returned.
    """
    known = [gain for gain in gains if getattr(gain, score).value is not None]
    return max(known, key=lambda gain: (getattr(gain, score).value, gain.brier.value), default=None)


def _sentence(
    answers: list[Gain],
    best: Gain | None,
    log_losses: Array,
    data: Judged,
    used: int,
    level: float,
) -> str:
    is_infinite = bool(np.isinf(log_losses).any())
    rows = data.rows if used == data.n else data.count_rows(used)
    about = f"({format_percent(level)} intervals, corrected for the number of methods)"
    if best is None:
        largest = largest_in("log_loss", answers)
        if largest is None:
            parts = ["No method could be fitted."]
        else:
            scores, effect = "log-loss or Brier score", _effect("log-loss", largest.log_loss)
            if is_infinite:
                scores, effect = "Brier score", _effect("Brier score", largest.brier)
            scarce = scarce_outcomes([data])
            result = f"No method shows a significant gain in {scores} with {rows}."
            if scarce is not None:
                result = f"Too few {scarce} to tell if recalibration would gain."
            parts = [
                f"{result} The best method, {largest.label}, would {' '.join(effect)} {about}."
            ]
    else:
        parts = [f"{_describe_gain(best)} {about}."]
        other = largest_in("brier", [gain for gain in answers if gain.brier.sign > 0])
        if best.log_loss.sign <= 0 and not is_infinite:
            parts.append(f"No method shows a significant gain in log-loss with {rows}.")
        elif best.brier.sign <= 0 and other is not None:
            parts.append(f"{_describe_gain(other)}.")
    if is_infinite:
        parts.append(infinite_loss(log_losses, data))
        known = [gain.log_loss.value for gain in answers if gain.brier.value is not None]
        if known and all(value == np.inf for value in known):
            parts.append("Every method makes it finite; only the Brier score compares them.")
    if used < data.n:
        some = f"{used:,} of the {data.n:,} rows" if data.weighted_rows is None else "Some rows"
        parts.append(f"{some} were used, drawn at random.")
    if data.confidences:
        parts.append("The map recalibrates confidences.")
    return " ".join(parts)


def _describe_gain(gain: Gain) -> str:
    """Return a clause on both scores; it begins with one that the map lowers significantly."""
    scores = [("log-loss", gain.log_loss), ("Brier score", gain.brier)]
    if gain.log_loss.value is None or np.isinf(gain.log_loss.value):
        return f"{capitalise(gain.label)} would {' '.join(_effect(*scores[1]))}"
    if gain.log_loss.sign <= 0:
        scores.reverse()
    (verb, effect), (other, second) = (_effect(name, interval) for name, interval in scores)
    other = "and" if other == verb else f"but {other}"
    doubt = "" if scores[1][1].sign else ", which is not significant"
    return f"{capitalise(gain.label)} would {verb} {effect} {other} {second}{doubt}"


def _effect(score: str, gain: Interval) -> tuple[str, str]:
    """Return what a map does to a score: ("lower", "the log-loss by 0.02 (0.01 to 0.03)")."""
    if gain.value == 0.0:
        return "leave", f"the {score} as it is"
    verb = "raise" if (gain.value or 0.0) < 0.0 else "lower"
    return verb, f"the {score} by {in_words(_flipped(gain))}"


def _flipped(interval: Interval) -> Interval:
    """Return the interval of the loss, which is minus the gain, if the gain is negative.

    The interval of another gain is returned unchanged.
    """
    value, low, high = interval.value or 0.0, interval.low, interval.high
    if value >= 0.0 or low is None or high is None:
        return replace(interval, value=abs(value))
    return Interval(-value, -high, -low, interval.level)
