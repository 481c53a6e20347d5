"""What recalibration would gain: cross-fitted, so that no map is judged on rows it was fitted on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import stdtrit

import harness.calibrators
from harness.common.wording import format_percent
from harness.errors import BadInputError, UndefinedError, guess
from harness.judging.findings import Gain, Gains, Interval, Judged
from harness.judging.saved import FittedMap

FOLDS = 5
FEWEST = 20  # rows, below which no map is fitted
CLIP = 1e-12  # smallest probability in a log-loss
MOST_ENTRIES = (
    1_000_000  # rows times classes that maps are cross-fitted on; of more rows, so many are drawn
)
FEWEST_DRAWN = 3_000
LIMITS = {"matrix": 30, "vector": 200}  # classes, above which a fit takes minutes
LABELS = {
    "temperature": "temperature scaling", "vector": "vector scaling", "matrix": "matrix scaling",
    "isotonic": "isotonic regression", "platt": "Platt scaling", "beta": "beta calibration",
}  # fmt: skip
BINARY = ("temperature", "platt", "beta", "isotonic")
MORE = ("temperature", "vector", "matrix", "isotonic")


def gains(data: Judged, level: float, rng: object, methods: Sequence[str] | None = None) -> Gains:
    """Cross-fitted gains in log-loss and Brier score, and the best map fitted on all rows.

        gain = mean over rows i of  score(p_i, y_i) - score(q_i, y_i),   q_i of a map fitted on the folds without row i

    Parameters
    ----------
    data : Judged
        The predictions.
    level : float
        At which the intervals of all methods hold together (each has 1 - (1 - level) / their number).
    rng : numpy.random.Generator or int
        What the folds are drawn from, the same for all methods.
    methods : sequence of str, optional
        Of temperature, platt, beta, isotonic for two classes, temperature, vector, matrix, isotonic for more; by default all. If
        one is named, its map is fitted whether it gains or not.

    Returns
    -------
    Gains
        best is the method of the largest gain in log-loss whose interval is above 0. With fewer than 20 rows there are no gains.

    Raises
    ------
    BadInputError
        For an unknown method.
    Notes
    -----
    The log-loss takes probabilities below 1e-12 as 1e-12, the Brier score is sum_j (p_j - y_j)^2 (one column for two classes).
    The five folds are random, and not stratified by class: stratified, the class shares held out would be those that the maps
    were fitted on, which shows a gain of about 1 / n that there is not.

    The interval is gain +- t s c / sqrt(n), s the standard deviation of the rows' gains, c^2 = 1 + n_held_out / n_fitted * folds
    = 2.25 (Nadeau and Bengio 2003): rows of different folds depend on each other, as the maps that judge them share rows. It is
    for the expected gain on new rows of maps fitted on 4/5 of these; that on all rows has a little more. Alone, at 0.95, it
    covered the gain of the five maps in 0.945 to 1 of 100 to 200 samples (four methods; calibrated, shifted and over-confident
    binary scores; n = 100 to 5,000), where c = 1 covered 0.80 to 0.96; of three classes in 0.925 to 1 of 80 samples.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281, Section 3.

    Examples
    --------
    >>> import harness
    >>> from harness.judging.findings import Judged
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> found = gains(Judged("a", np.column_stack([1 - p, p]), y, ("no", "yes")), 0.95, 1)
    >>> found.best, found.fitted(np.array([0.02, 0.5, 0.98])).round(1)
    ('platt', array([0.2, 0.6, 0.9]))
    """
    allowed = BINARY if data.k == 2 else MORE
    chosen = allowed if methods is None else tuple(dict.fromkeys(methods))
    for name in chosen:
        if name not in allowed:
            about = "two classes" if data.k == 2 else f"{data.k} classes"
            raise BadInputError(
                f"method is {name!r}; of {about}, {', '.join(allowed)} are allowed{guess(name, allowed)}."
            )
    if not chosen:
        raise BadInputError(f"methods is empty; name at least one of {', '.join(allowed)}.")
    if data.n < FEWEST:
        return Gains(
            f"With {data.n} rows no map can be fitted and judged; {FEWEST} are the least.", (), None
        )
    stream = np.random.default_rng(rng)  # type: ignore[arg-type]
    rows = _rows(data, stream)
    p, y = data.p[rows], data.y[rows]
    fold = folds(len(y), stream)
    each = 1.0 - (1.0 - level) / len(chosen)
    before = scores(p, y)
    found = [_gain(name, p, y, data.classes, fold, before, level, each) for name in chosen]
    better = [one for one in found if one.log_loss.low is not None and one.log_loss.low > 0.0]
    best = max(better, key=lambda one: one.log_loss.value or 0.0).method if better else None
    wanted = best or (
        chosen[0] if methods is not None and len(chosen) == 1 and found[0].reason is None else None
    )
    fitted = None
    if wanted is not None:
        entries = most_rows(data.k)
        some = (
            slice(None)
            if data.n <= entries
            else np.sort(stream.choice(data.n, entries, replace=False))
        )
        fitted = fit(wanted, data.p[some], data.y[some], data.classes)
    return Gains(_sentence(found, best, before, data, len(y), level), tuple(found), best, fitted)


def fit(
    method: str, p: NDArray[np.float64], y: NDArray[np.int64], classes: tuple[str, ...]
) -> FittedMap:
    """The map of a method fitted on p (n, k) and y (n,)."""
    calibrators: Any = harness.calibrators
    k = p.shape[1]
    parameters: dict[str, Any]
    one = p[:, 1] if k == 2 else p
    if method == "temperature":
        parameters = {"beta": np.array(calibrators.Temperature().slope(one, y))}
    elif method == "platt":
        parameters = dict(zip("ab", calibrators.Platt().coefficients(one, y)))
    elif method == "beta":
        parameters = dict(zip("abc", calibrators.BetaCalibration().coefficients(one, y)))
    elif method == "vector":
        parameters = dict(zip("wb", calibrators.VectorScaling().coefficients(p, y)))
    elif method == "matrix":
        both = calibrators.MatrixScaling().coefficients(p, y)
        parameters = {"W": both[:, :-1], "b": both[:, -1]}
    else:
        curves = [
            _isotonic(p[:, j], (y == j).astype(np.float64)) for j in ([1] if k == 2 else range(k))
        ]
        parameters = {"x": [x for x, _ in curves], "y": [v for _, v in curves]}
    return FittedMap(method, k, classes, len(y), parameters)


def cross_fitted(
    method: str,
    p: NDArray[np.float64],
    y: NDArray[np.int64],
    classes: tuple[str, ...],
    fold: NDArray[np.int64],
) -> NDArray[np.float64]:
    """q (n, k): row i by the map fitted on the folds that it is not in."""
    q = np.empty_like(p)
    for j in range(int(fold.max()) + 1):
        held_out = fold == j
        q[held_out] = fit(method, p[~held_out], y[~held_out], classes)(p[held_out])
    return q


def folds(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The random fold of every row."""
    return rng.permutation(np.arange(n) % FOLDS)


def scores(
    p: NDArray[np.float64], y: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-loss and Brier score of every row; the Brier score is of one column for two classes, else summed over all.

    Examples
    --------
    >>> [v.round(3).tolist() for v in scores(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([1, 1]))]
    [[0.693, 27.631], [0.25, 1.0]]
    """
    own = p[np.arange(len(y)), y]
    log_loss = -np.log(np.clip(own, CLIP, 1.0))
    if p.shape[1] == 2:
        return log_loss, (1.0 - own) ** 2
    brier: NDArray[np.float64] = np.einsum("ij,ij->i", p, p) - 2.0 * own + 1.0
    return log_loss, brier


def paired_mean(
    d: NDArray[np.float64], level: float, at: float, inflation: float = 1.0
) -> Interval:
    """The mean of d (n,) with an interval of level `at`, said to hold at `level`: mean +- t s inflation / sqrt(n)."""
    n, mean = len(d), float(d.mean())
    if n < 2:
        return Interval(mean, None, None, level)
    half = float(stdtrit(n - 1, 0.5 + at / 2.0)) * float(d.std(ddof=1)) * inflation / n**0.5
    return Interval(mean, mean - half, mean + half, level)


INFLATION = float(np.sqrt(1.0 + FOLDS / (FOLDS - 1.0)))


def _gain(
    method: str, p: NDArray[np.float64], y: NDArray[np.int64], classes: tuple[str, ...], fold: NDArray[np.int64],
    before: tuple[NDArray[np.float64], NDArray[np.float64]], level: float, each: float,
) -> Gain:  # fmt: skip
    nothing = Interval(None, None, None, level)
    k = p.shape[1]
    if k > LIMITS.get(method, k):
        size = f"{k * (k + 1) if method == 'matrix' else 2 * k:,} coefficients"
        reason = f"left out: with {k:,} classes it has {size}, and takes minutes; it is for at most {LIMITS[method]} classes."
        return Gain(method, LABELS[method], nothing, nothing, 0.0, reason)
    start = time.perf_counter()
    try:
        after = scores(cross_fitted(method, p, y, classes, fold), y)
    except (UndefinedError, np.linalg.LinAlgError) as error:
        return Gain(
            method,
            LABELS[method],
            nothing,
            nothing,
            time.perf_counter() - start,
            f"no map can be fitted: {error}.",
        )
    log_loss, brier = (paired_mean(a - b, level, each, INFLATION) for a, b in zip(before, after))
    return Gain(method, LABELS[method], log_loss, brier, time.perf_counter() - start)


def _isotonic(
    x: NDArray[np.float64], hit: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places and values of the isotonic regression; those inside a piece of one value are left out."""
    at, where = np.unique(x, return_inverse=True)
    count = np.bincount(where)
    value = np.clip(isotonic_regression(np.bincount(where, hit) / count, weights=count).x, 0.0, 1.0)
    kept = np.ones(len(at), dtype=bool)
    kept[1:-1] = (np.diff(value)[:-1] != 0.0) | (np.diff(value)[1:] != 0.0)
    return at[kept], value[kept]


def most_rows(k: int) -> int:
    """How many rows maps of k classes are cross-fitted on."""
    return max(MOST_ENTRIES // k, FEWEST_DRAWN)


def _rows(data: Judged, rng: np.random.Generator) -> NDArray[np.intp] | slice:
    most = most_rows(data.k)
    return slice(None) if data.n <= most else np.sort(rng.choice(data.n, most, replace=False))


def _sentence(
    found: list[Gain], best: str | None, before: tuple[NDArray[np.float64], NDArray[np.float64]], data: Judged, used: int,
    level: float,
) -> str:  # fmt: skip
    parts = []
    about = f"({format_percent(level)} intervals, which hold for all methods together)"
    done = [one for one in found if one.log_loss.value is not None]
    if not done:
        parts.append("No method could be fitted.")
    elif best is None:
        one = max(done, key=lambda gain: gain.log_loss.value or 0.0)
        change = f"lower the log-loss by {_with(one.log_loss)}"
        if (one.log_loss.value or 0.0) < 0.0:
            change = f"raise the log-loss by {_with(_negative(one.log_loss))}"
        parts.append(
            f"No method is shown to gain at n = {used:,}: the best of them, {one.label}, would {change} {about}."
        )
    else:
        one = next(gain for gain in done if gain.method == best)
        sure = one.brier.low is not None and one.brier.low > 0.0
        brier = (
            f"the Brier score by {_with(one.brier)}"
            if sure
            else f"the Brier score, not for certain, by {_with(one.brier)}"
        )
        parts.append(
            f"{_capital(one.label)} would lower the log-loss by {_with(one.log_loss)} and {brier} {about}."
        )
    impossible = int((before[0] >= -np.log(CLIP) - 1e-9).sum())
    if impossible:
        rows = "1 row" if impossible == 1 else f"{impossible:,} rows"
        parts.append(
            f"In {rows} the outcome had been given a probability of (nearly) 0, which the log-loss takes as 1e-12 (27.6 nats a "
            "row): its gain is largely theirs."
        )
    if used < data.n:
        parts.append(f"Of the {data.n:,} rows, {used:,} drawn at random were used.")
    if data.confidences:
        parts.append("The map is of confidences.")
    return " ".join(parts)


def _with(one: Interval) -> str:
    value = one.value or 0.0
    return (
        f"{value:.4f}"
        if one.low is None or one.high is None
        else f"{value:.4f} ({one.low:.4f} to {one.high:.4f})"
    )


def _negative(one: Interval) -> Interval:
    low, high = (None if end is None else -end for end in (one.high, one.low))
    return Interval(-(one.value or 0.0), low, high, one.level)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
