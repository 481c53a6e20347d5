"""Answer question 4: the cross-fitted gain of recalibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import harness.calibrators
from harness.calibrators.isotonic import knots
from harness.common.wording import format_count, format_percent
from harness.errors import UndefinedError
from harness.judging.bins import Array, Integers
from harness.judging.findings import Gain, Gains, Interval, Judged
from harness.judging.saved import FittedMap
from harness.judging.scores import CLIP, mean_interval, row_scores
from harness.judging.words import capitalise, in_words

FOLDS = 5
# Factor on the width of intervals of cross-fitted means (Nadeau and Bengio 2003), see `gains`.
INFLATION = float(np.sqrt(1.0 + FOLDS / (FOLDS - 1.0)))
FEWEST_ROWS = 20  # with fewer rows no map is fitted
MOST_ENTRIES = 1_000_000  # most rows times classes on which maps are cross-fitted
FEWEST_DRAWN = 3_000  # rows that are drawn at least, however many classes there are
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

    q_i is from a map fitted on the folds without row i. The maps are temperature, platt, beta and
    isotonic for two classes, temperature, vector, matrix and isotonic for more.

    Parameters
    ----------
    data : Judged
        The predictions.
    level : float
        Level at which the intervals of all methods hold together: each has level
        1 - (1 - level) / (number of methods).
    rng : numpy.random.Generator
        Draws the folds, the same for all methods.

    Returns
    -------
    Gains
        With fewer than 20 rows there are no gains.

    Notes
    -----
    The five folds are random and not stratified by class. With stratified folds the held-out class
    shares would be those that the maps were fitted on, which shows a gain of about 1 / n that does
    not exist.

    The interval is gain +- t s c / sqrt(n), with s the standard deviation of the rows' gains and
    c^2 = 1 + folds n_held_out / n_fitted = 2.25 (Nadeau and Bengio 2003): rows of different folds
    depend on each other, as the maps that judge them share rows. It is for the expected gain on new
    rows of maps fitted on 4/5 of these; the map fitted on all rows gains a little more. At 0.95
    each interval covered the gain in 0.945 to 1 of 100 to 200 samples (four methods; calibrated,
    shifted and overconfident binary scores; n = 100 to 5,000). With c = 1 it was 0.80 to 0.96. With
    three classes it was 0.925 to 1 of 80 samples.

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
    if data.n < FEWEST_ROWS:
        sentence = f"With {data.n} rows no map can be fitted and judged; {FEWEST_ROWS} are needed."
        return Gains(sentence, (), None)
    rows = draw_rows(data, rng)
    p, y = data.p[rows], data.y[rows]
    fold = folds(len(y), rng)
    methods = BINARY if data.k == 2 else MULTICLASS
    each = 1.0 - (1.0 - level) / len(methods)
    before = row_scores(p, y)
    answers = []
    for method in methods:
        reason: str | None = None
        most = MOST_CLASSES.get(method, data.k)
        try:
            if data.k > most:
                raise UndefinedError(f"a fit to more than {most} classes takes minutes")
            after = row_scores(cross_fitted(method, p, y, data.classes, fold), y)
            log_loss, brier = (
                mean_interval(a - b, level, each, INFLATION) for a, b in zip(before, after)
            )
        except (UndefinedError, np.linalg.LinAlgError) as error:
            log_loss = brier = Interval(None, level=level)
            reason = f"no map can be fitted: {error}."
        answers.append(Gain(method, LABELS[method], log_loss, brier, reason))
    best = _largest([gain for gain in answers if gain.log_loss.sign > 0])
    fitted = None
    if best is not None:
        rows = draw_rows(data, rng)
        fitted = fit(best.method, data.p[rows], data.y[rows], data.classes)
    impossible = int((before[0] >= -np.log(CLIP) - 1e-9).sum())
    sentence = _sentence(answers, best, impossible, data, len(y), level)
    return Gains(sentence, tuple(answers), best.method if best else None, fitted)


def cross_fitted(
    method: str, p: Array, y: Integers, classes: tuple[str, ...], fold: Integers
) -> Array:
    """Return q (n, k): row i by the map fitted on the folds that it is not in."""
    q = np.empty_like(p)
    for j in range(FOLDS):
        held_out = fold == j
        q[held_out] = fit(method, p[~held_out], y[~held_out], classes)(p[held_out])
    return q


def folds(n: int, rng: np.random.Generator) -> Integers:
    """Return a random fold for every row, 0..4 in equal shares."""
    return rng.permutation(np.arange(n) % FOLDS)


def most_rows(k: int) -> int:
    """Return the number of rows on which maps of k classes are cross-fitted at most."""
    return max(MOST_ENTRIES // k, FEWEST_DRAWN)


def draw_rows(data: Judged, rng: np.random.Generator) -> Integers:
    """Return all rows, or as many random ones as maps are fitted on, in ascending order."""
    most = most_rows(data.k)
    if data.n <= most:
        return np.arange(data.n)
    return np.sort(rng.choice(data.n, most, replace=False))


def fit(method: str, p: Array, y: Integers, classes: tuple[str, ...]) -> FittedMap:
    """Fit the map of a method on p (n, k) and y (n,)."""
    calibrators: Any = harness.calibrators
    k = p.shape[1]
    scores = p[:, 1] if k == 2 else p
    parameters: dict[str, Any]
    if method == "temperature":
        parameters = {"beta": np.array(calibrators.Temperature().slope(scores, y))}
    elif method == "platt":
        parameters = dict(zip("ab", calibrators.Platt().coefficients(scores, y)))
    elif method == "beta":
        parameters = dict(zip("abc", calibrators.BetaCalibration().coefficients(scores, y)))
    elif method == "vector":
        parameters = dict(zip("wb", calibrators.VectorScaling().coefficients(p, y)))
    elif method == "matrix":
        coefficients = calibrators.MatrixScaling().coefficients(p, y)
        parameters = {"W": coefficients[:, :-1], "b": coefficients[:, -1]}
    else:
        columns = [1] if k == 2 else range(k)
        curves = [_isotonic_curve(p[:, j], (y == j).astype(np.float64)) for j in columns]
        parameters = {"x": [x for x, _ in curves], "y": [v for _, v in curves]}
    return FittedMap(method, k, classes, len(y), parameters)


def _isotonic_curve(x: Array, hit: Array) -> tuple[Array, Array]:
    """Return knots and values of the isotonic regression, which are between 0 and 1."""
    order = np.argsort(x, kind="stable")
    scores, values = knots(x[order], hit[order])
    return scores, np.clip(values, 0.0, 1.0)


def _largest(gains: list[Gain]) -> Gain | None:
    """Return the gain that is largest in log-loss, or None if none has a value."""
    known = [gain for gain in gains if gain.log_loss.value is not None]
    return max(known, key=lambda gain: gain.log_loss.value or 0.0, default=None)


def _sentence(
    answers: list[Gain], best: Gain | None, impossible: int, data: Judged, used: int, level: float
) -> str:
    about = f"({format_percent(level)} intervals, which hold for all methods together)"
    largest = best or _largest(answers)
    if largest is None or largest.log_loss.value is None:
        parts = ["No method could be fitted."]
    elif best is None:
        verb = "raise" if largest.log_loss.value < 0.0 else "lower"
        parts = [
            f"No method is shown to gain with {used:,} rows: the best of them, {largest.label}, "
            f"would {verb} the log-loss by {in_words(_flipped(largest.log_loss))} {about}."
        ]
    else:
        doubt = "" if best.brier.sign > 0 else ", not for certain,"
        parts = [
            f"{capitalise(best.label)} would lower the log-loss by {in_words(best.log_loss)} and "
            f"the Brier score{doubt} by {in_words(best.brier)} {about}."
        ]
    if impossible:
        parts.append(
            f"In {format_count(impossible, 'row')} the outcome had a probability of (nearly) 0. "
            "The log-loss takes it as 1e-12 (27.6 nats a row), and its gain largely comes from "
            "there."
        )
    if used < data.n:
        parts.append(f"{used:,} of the {data.n:,} rows were used, drawn at random.")
    if data.confidences:
        parts.append("The map is for confidences.")
    return " ".join(parts)


def _flipped(interval: Interval) -> Interval:
    """Return the interval of the loss if the gain is negative, else of the gain."""
    value, low, high = interval.value or 0.0, interval.low, interval.high
    if value >= 0.0 or low is None or high is None:
        return replace(interval, value=abs(value))
    return Interval(-value, -high, -low, interval.level)
