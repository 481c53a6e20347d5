"""Prior distribution of the simulations that train `harness.estimators.Best` (train_best.py).

A setting is a distribution of predictions, a calibration map and a sample size n. Each is drawn
from a broad prior that uses no problem of conf/. No generator makes the shapes of the arena's test
families. The true calibration errors of a setting are means over many predictions. The random
numbers of setting i depend only on i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, softmax

from harness.estimators.ingredient_members import Ingredients
from harness.estimators.ingredients import compute_ingredients
from harness.math.folds import assign_folds

Law = Callable[[int, np.random.Generator], np.ndarray]  # (n, rng) -> predictions
Map = Callable[[np.ndarray], np.ndarray]  # predictions p -> C = E[Y given p]
NamedMap = tuple[str, Map]  # kind of a map, and the map

KINDS = ("scalar", "vector")
REPS = 3  # samples of a setting
POINTS = 20_000  # predictions from which the true errors of a setting are computed
SMALL_N, LARGE_N = (40, 1_500), (1_500, 20_000)  # ranges of the sample size
SMALL_SHARE = {"scalar": 0.7, "vector": 0.85}  # share of settings with a size in SMALL_N
LARGEST_ENTRIES = 60_000  # largest n k of vectors
CLASSES = (2, 3, 4, 5, 10, 0, 100)  # numbers of classes; 0 draws one of MANY_CLASSES
CLASS_SHARES = (0.06, 0.22, 0.12, 0.1, 0.3, 0.15, 0.05)
MANY_CLASSES = (11, 60)
RARE = (0.001, 0.05)  # mean prediction of rare events
RARE_MEAN = 0.25  # below this mean, the prior of the error is proportional to the mean
# An error of fewer units of noise can hardly be detected. This share of such settings is used.
DETECTABLE, UNDETECTABLE_SHARE = 2.0, 0.4
CALIBRATED = "calibrated"  # shape of a setting without error


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number between `low` and `high` whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def rarity(mean: float) -> float:
    """Return 1, or less for a mean nearer to 0 or 1 than RARE_MEAN, in proportion to the distance.

    Examples
    --------
    >>> rarity(0.5), rarity(0.05), rarity(0.95)
    (1.0, 0.2, 0.2)
    """
    return round(float(min(1.0, min(mean, 1.0 - mean) / RARE_MEAN)), 12)


# Scalars


def scalar_law(rng: np.random.Generator) -> Law:
    """Draw a distribution of scalar predictions. Return its sampler (n, rng) -> p (n,)."""
    kind = rng.choice(
        ["beta", "logit", "uniform", "top", "two", "column", "rare"],
        p=[0.22, 0.16, 0.07, 0.25, 0.12, 0.1, 0.08],
    )
    if kind == "beta":
        a, b = log_uniform(rng, 0.08, 8), log_uniform(rng, 0.08, 8)
        base = lambda n, r: r.beta(a, b, n)  # noqa: E731
    elif kind == "logit":
        m, s = rng.normal(0, 1.5), log_uniform(rng, 0.15, 6)
        base = lambda n, r: expit(m + s * r.standard_normal(n))  # noqa: E731
    elif kind == "uniform":
        low, high = np.sort(rng.random(2))
        high = max(high, low + 0.05)
        base = lambda n, r: np.clip(r.uniform(low, high, n), 0, 1)  # noqa: E731
    elif kind == "top":
        inner = vector_law(rng, int(log_uniform(rng, 3, 40)))
        base = lambda n, r: inner(n, r).max(axis=1)  # noqa: E731
    elif kind == "column":  # a class of many
        classes = int(log_uniform(rng, 3, 100))
        several, column = vector_law(rng, classes), int(rng.integers(classes))
        base = lambda n, r: several(n, r)[:, column]  # noqa: E731
    elif kind == "rare":
        mean, a = log_uniform(rng, *RARE), log_uniform(rng, 0.2, 5)
        base = lambda n, r: r.beta(a, a * (1.0 - mean) / mean, n)  # noqa: E731
    else:
        first, second, share = scalar_law(rng), scalar_law(rng), rng.random()

        def base(n: int, r: np.random.Generator) -> np.ndarray:
            a, b = first(n, r), second(n, r)
            return np.where(r.random(n) < share, a, b)

    how = rng.random()
    if how < 0.15:  # only a few distinct values
        values = np.unique(base(int(log_uniform(rng, 2, 60)), rng))
        return lambda n, r: values[np.abs(base(n, r)[:, None] - values).argmin(axis=1)]
    if how < 0.25:  # rounded
        digits = int(rng.integers(1, 3))
        return lambda n, r: np.round(base(n, r), digits)
    if how < 0.35:  # an atom: one value has positive probability
        atom, share = float(rng.choice([0.0, 1.0, rng.random()])), rng.random()
        return lambda n, r: np.where(r.random(n) < share, atom, base(n, r))
    if how < 0.4:  # shares of the votes of an ensemble
        voters = int(log_uniform(rng, 10, 500))
        return lambda n, r: r.binomial(voters, base(n, r)) / voters
    if how < 0.47:  # saturated: many predictions are near 0 or 1
        power = log_uniform(rng, 2, 8)
        return lambda n, r: (
            expit(power * logit(np.clip(base(n, r), 1e-12, 1 - 1e-12)))
            .astype(np.float32)
            .astype(float)
        )
    return base


def scalar_map(rng: np.random.Generator, reference: np.ndarray) -> NamedMap:
    """Draw a calibration map of scalars. Return its kind, and the map as p (n,) -> C (n,).

    `reference` are sorted predictions, from which the map takes their ranks and mean.
    """

    def rank(p: np.ndarray) -> np.ndarray:
        return (np.searchsorted(reference, p, "left") + np.searchsorted(reference, p, "right")) / (
            2.0 * len(reference)
        )

    def log_odds(p: np.ndarray) -> np.ndarray:
        return logit(np.clip(p, 1e-7, 1 - 1e-7))

    where = [lambda p: p, rank, lambda p: 0.5 + log_odds(p) / 12.0][
        int(rng.choice(3, p=[0.45, 0.35, 0.2]))
    ]
    size = log_uniform(rng, 0.01, 0.35) * rng.choice([-1, 1])
    if rng.random() < 0.5:
        size *= rarity(reference.mean())
    kinds = [
        "logit",
        "sided",
        "shift",
        "wave",
        "square",
        "smooth",
        "steps",
        "monotone",
        "local",
        "constant",
        "bent",
    ]
    kind = rng.choice(kinds, p=[0.2, 0.07, 0.05, 0.12, 0.04, 0.13, 0.08, 0.07, 0.17, 0.03, 0.04])
    envelope = [lambda p: 1.0, lambda p: 4 * p * (1 - p), lambda p: 2 * np.minimum(p, 1 - p)][
        int(rng.integers(3))
    ]
    if kind == "logit":
        a, b = log_uniform(rng, 0.15, 6), rng.normal(0, 0.8) * (rng.random() < 0.6)
        c = rng.normal(0, 0.1) * (rng.random() < 0.3)

        def g(p: np.ndarray) -> np.ndarray:
            return expit(a * log_odds(p) + b + c * np.clip(log_odds(p), -5, 5) ** 2)

    elif kind == "sided":
        cut, a, b = (
            where(rng.choice(reference, 1))[0],
            log_uniform(rng, 0.2, 5),
            log_uniform(rng, 0.2, 5),
        )
        g = lambda p: expit(np.where(where(p) < cut, a, b) * log_odds(p))  # noqa: E731
    elif kind == "shift":
        g = lambda p: p + size  # noqa: E731
    elif kind in ("wave", "square"):
        f, phase = log_uniform(rng, 0.5, 40), rng.random() * 2 * np.pi
        form = np.sin if kind == "wave" else lambda t: np.sign(np.sin(t))
        g = lambda p: p + size * envelope(p) * form(2 * np.pi * f * where(p) + phase)  # noqa: E731
    elif kind == "smooth":
        width = log_uniform(rng, 0.02, 1.0)
        w, phase, a = (
            rng.normal(0, 1 / width, 40),
            rng.uniform(0, 2 * np.pi, 40),
            rng.normal(size=40) / np.sqrt(20),
        )
        f = lambda p: np.cos(np.outer(where(p), w) + phase) @ a  # noqa: E731
        if rng.random() < 0.5:
            g = lambda p: p + size * envelope(p) * f(p)  # noqa: E731
        else:
            g = lambda p: expit(log_odds(p) + 5 * size * f(p))  # noqa: E731
    elif kind == "steps":
        cuts = np.sort(rng.random(int(rng.integers(1, 14))))
        part = np.searchsorted(cuts, where(reference))
        mean = np.array(
            [
                reference[part == j].mean() if (part == j).any() else 0.5
                for j in range(len(cuts) + 1)
            ]
        )
        mean = mean + (rng.random() < 0.5) * size * rng.normal(size=len(mean))
        g = lambda p: mean[np.searchsorted(cuts, where(p))]  # noqa: E731
    elif kind == "monotone":
        knots = int(rng.integers(2, 12))
        x, c = np.linspace(0, 1, knots), np.sort(rng.random(knots))
        g = lambda p: np.interp(where(p), x, c)  # noqa: E731
    elif kind == "local":
        centre, width = where(rng.choice(reference, 1))[0], log_uniform(rng, 0.01, 0.3)
        big = rng.choice([-1, 1]) * rng.uniform(0.05, 0.5)
        form = (
            (lambda t: np.exp(-t * t / 2))
            if rng.random() < 0.6
            else (lambda t: (np.abs(t) < 1.0) * 1.0)
        )
        g = lambda p: p + big * form((where(p) - centre) / width)  # noqa: E731
    elif kind == "constant":
        c = float(np.clip(reference.mean() + rng.normal(0, 0.1), 0, 1))
        g = lambda p: np.full_like(p, c)  # noqa: E731
    else:
        bend, slope = rng.random(), rng.uniform(-1.5, 1.5)
        middle = reference.mean()
        g = lambda p: middle + slope * (np.abs(where(p) - bend) - 0.25)  # noqa: E731
    share = 1.0 if rng.random() < 0.55 else log_uniform(rng, 0.03, 1.0)
    return str(kind), lambda p: np.clip(p + share * (np.clip(g(p), 0, 1) - p), 0.0, 1.0)


# Vectors


def vector_law(rng: np.random.Generator, k: int) -> Law:
    """Draw a distribution of probability vectors. Return its sampler (n, rng) -> p (n, k)."""
    kind = rng.choice(
        ["dirichlet", "normal", "clusters", "low rank", "two"], p=[0.35, 0.2, 0.2, 0.15, 0.1]
    )
    base = (
        np.full(k, 1.0 / k)
        if rng.random() < 0.6
        else rng.dirichlet(np.full(k, log_uniform(rng, 0.3, 5))) + 1e-4
    )
    base = base / base.sum()
    heat = log_uniform(rng, 0.3, 8)
    if kind == "dirichlet":
        alpha = np.maximum(log_uniform(rng, 0.05, 8) * k * base, 0.01)
        law = lambda n, r: r.dirichlet(alpha, n)  # noqa: E731
    elif kind == "normal":

        def law(n: int, r: np.random.Generator) -> np.ndarray:
            return softmax(heat * r.standard_normal((n, k)) + np.log(base), axis=1)

    elif kind == "clusters":
        apart = log_uniform(rng, 0.5, 6)

        def law(n: int, r: np.random.Generator) -> np.ndarray:
            centre = r.choice(k, n, p=base)
            return softmax(heat * (r.standard_normal((n, k)) + apart * np.eye(k)[centre]), axis=1)

    elif kind == "low rank":
        mix = rng.normal(size=(int(rng.integers(1, 5)), k))

        def law(n: int, r: np.random.Generator) -> np.ndarray:
            return softmax(heat * r.standard_normal((n, len(mix))) @ mix + np.log(base), axis=1)

    else:
        first, second, share = vector_law(rng, k), vector_law(rng, k), rng.random()

        def law(n: int, r: np.random.Generator) -> np.ndarray:
            a, b = first(n, r), second(n, r)
            return np.where(r.random(n)[:, None] < share, a, b)

    how = rng.random()
    if how < 0.06:  # shares of the votes of an ensemble
        voters = int(log_uniform(rng, 10, 500))
        return lambda n, r: r.multinomial(voters, law(n, r)) / voters
    if how < 0.14:
        values = law(int(log_uniform(rng, 2, 60)), rng)
        odds = rng.dirichlet(np.ones(len(values)))
        return lambda n, r: values[r.choice(len(values), n, p=odds)]
    if how < 0.23:
        power = log_uniform(rng, 2, 6)

        def saturated(n: int, r: np.random.Generator) -> np.ndarray:
            p = (
                softmax(power * np.log(np.maximum(law(n, r), 1e-30)), axis=1)
                .astype(np.float32)
                .astype(float)
            )
            return p / p.sum(axis=1, keepdims=True)

        return saturated
    return law


def vector_map(rng: np.random.Generator, reference: np.ndarray) -> NamedMap:
    """Draw a calibration map of vectors. Return its kind, and the map as p (n, k) -> C (n, k).

    `reference` (m, k) are predictions from which the map takes centres and means.
    """
    k = reference.shape[1]

    def log(p: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(p, 1e-7))

    kinds = [
        "power",
        "bias",
        "matrix",
        "element",
        "local",
        "class",
        "uniform",
        "top",
        "network",
        "wave",
    ]
    kind = rng.choice(kinds, p=[0.18, 0.1, 0.06, 0.14, 0.13, 0.07, 0.07, 0.1, 0.05, 0.1])
    size = log_uniform(rng, 0.05, 1.5)
    if kind == "power":
        a = log_uniform(rng, 0.2, 4)
        g = lambda p: softmax(a * log(p), axis=1)  # noqa: E731
    elif kind == "bias":
        a, b = log_uniform(rng, 0.3, 3), size * rng.normal(size=k)
        d = np.exp(rng.normal(0, 0.4, k)) if rng.random() < 0.4 else np.ones(k)
        g = lambda p: softmax(a * d * log(p) + b, axis=1)  # noqa: E731
    elif kind == "matrix":
        w = np.eye(k) + size * rng.normal(size=(k, k)) / k
        g = lambda p: softmax(np.clip(log(p), -10, 0) @ w, axis=1)  # noqa: E731
    elif kind == "element":
        f, phase = log_uniform(rng, 0.5, 8), rng.uniform(0, 2 * np.pi)
        inner = log if rng.random() < 0.5 else (lambda p: 3 * p)
        g = lambda p: _normalised(p * np.exp(size * np.sin(f * inner(p) + phase)))  # noqa: E731
    elif kind == "local":
        centre, width = reference[rng.integers(len(reference))], log_uniform(rng, 0.05, 0.6)
        to = rng.dirichlet(np.full(k, 0.5)) if rng.random() < 0.6 else centre[rng.permutation(k)]

        def g(p: np.ndarray) -> np.ndarray:
            weight = np.exp(-((p - centre) ** 2).sum(axis=1) / (2 * width**2))
            return p + weight[:, None] * (to - p)

    elif kind == "class":
        a, b, c = int(rng.integers(k)), log_uniform(rng, 0.3, 3), rng.normal(0, 1)

        def g(p: np.ndarray) -> np.ndarray:
            mapped = expit(b * logit(np.clip(p[:, a], 1e-7, 1 - 1e-7)) + c)
            out = p * ((1 - mapped) / np.maximum(1 - p[:, a], 1e-7))[:, None]
            out[:, a] = mapped
            return _normalised(out)

    elif kind == "uniform":
        to = np.full(k, 1.0 / k) if rng.random() < 0.5 else reference.mean(axis=0)
        share = rng.random()
        g = lambda p: p + share * (to - p)  # noqa: E731
    elif kind == "top":
        _, top_map = scalar_map(rng, np.sort(reference.max(axis=1)))

        def g(p: np.ndarray) -> np.ndarray:
            top, largest = p.argmax(axis=1), p.max(axis=1)
            mapped = top_map(largest)
            is_certain = (largest > 1 - 1e-7)[:, None]
            out = p * ((1 - mapped) / np.maximum(1 - largest, 1e-7))[:, None]
            out = out + is_certain * (1 - mapped[:, None]) / (k - 1)
            out[np.arange(len(p)), top] = mapped
            return _normalised(out)

    elif kind == "wave":  # over one entry or a mean of all entries, by its value or its rank
        w = np.eye(k)[rng.integers(k)] if rng.random() < 0.5 else rng.uniform(-1, 1, k)
        line, ranked = np.sort(reference @ w), rng.random() < 0.5
        f, phase = log_uniform(rng, 0.5, 40), rng.uniform(0, 2 * np.pi)
        v = rng.normal(size=k)
        if rng.random() < 0.5:  # two classes exchange their mass
            v = np.eye(k)[0] - np.eye(k)[1]
            v = v[rng.permutation(k)]
        v, factor = v - v.mean(), rng.random() < 0.5

        def g(p: np.ndarray) -> np.ndarray:
            t = np.searchsorted(line, p @ w) / len(line) if ranked else p @ w
            d = size * np.sin(2 * np.pi * f * t + phase)[:, None] * v
            return _normalised(p * np.exp(d) if factor else np.maximum(p + d / 4.0, 0.0))

    else:
        width = int(rng.integers(3, 20))
        w, b = rng.normal(size=(k, width)) * log_uniform(rng, 1, 8), rng.normal(size=width)
        v = rng.normal(size=(width, k)) / np.sqrt(width) * 2 * size
        g = lambda p: softmax(log(p) + np.tanh(p @ w + b) @ v, axis=1)  # noqa: E731
    share = 1.0 if rng.random() < 0.55 else log_uniform(rng, 0.03, 1.0)
    return str(kind), lambda p: _normalised(np.maximum(p + share * (g(p) - p), 0.0))


def _normalised(c: np.ndarray) -> np.ndarray:
    return c / np.maximum(c.sum(axis=1, keepdims=True), 1e-300)


# Settings


@dataclass(frozen=True)
class Setting:
    """A distribution of predictions with a calibration map, and a sample size.

    Parameters
    ----------
    law : callable
        Sampler (n, rng) -> predictions.
    curve : callable
        Calibration map: predictions -> E[Y given p].
    n : int
        Number of rows of a sample.
    truth : dict
        {estimand: true value}.
    shape : str
        Kind of the calibration map.
    rarity : float
        `rarity` of the mean of the predictions, or of the outcomes if it is larger. For vectors,
        the mean is that of the largest prediction.
    """

    law: Law
    curve: Map
    n: int
    truth: dict[str, float]
    shape: str
    rarity: float


def draw_setting(kind: str, rng: np.random.Generator) -> Setting:
    """Draw a setting of scalar or vector predictions from the prior.

    Errors are detectable if l1 is above DETECTABLE units of noise sqrt(E |Y - C|^2 / n). Of the
    settings with smaller errors, the share UNDETECTABLE_SHARE is kept.
    """
    while True:
        setting = _propose(kind, rng)
        if setting is not None:
            return setting


def _propose(kind: str, rng: np.random.Generator) -> Setting | None:
    """Draw a setting. Return None if it is rejected because its error is not detectable."""
    calibrated = rng.random() < 0.1
    low, high = SMALL_N if rng.random() < SMALL_SHARE[kind] else LARGE_N
    if kind == "scalar":
        n = int(log_uniform(rng, low, high))
        law = scalar_law(rng)
        many = law(POINTS, rng)
        shape, curve = scalar_map(rng, np.sort(many))
    else:
        k = int(rng.choice(CLASSES, p=CLASS_SHARES)) or int(log_uniform(rng, *MANY_CLASSES))
        n = int(min(log_uniform(rng, low, high), max(LARGEST_ENTRIES / k, low)))
        law = vector_law(rng, k)
        many = law(min(POINTS, 400_000 // k), rng)
        shape, curve = vector_map(rng, many)
    if calibrated:
        shape, curve = CALIBRATED, lambda p: p
    c = curve(many)
    gap = (many - c).reshape(len(many), -1)
    squares = (gap**2).sum(axis=1)
    truth = {"l1": np.abs(gap).sum(axis=1).mean(), "l2_squared": squares.mean()}
    if kind == "vector":
        truth["l2"] = np.sqrt(squares).mean()
    noise = np.sqrt((c * (1.0 - c)).reshape(len(c), -1).sum(axis=1).mean() / n)
    if truth["l1"] < DETECTABLE * noise and rng.random() > UNDETECTABLE_SHARE:
        return None
    if kind == "scalar":
        means = many.mean(), c.mean()
    else:
        top = many.argmax(axis=1)[:, None]
        means = tuple(np.take_along_axis(x, top, axis=1).mean() for x in (many, c))
    return Setting(law, curve, n, truth, shape, max(map(rarity, means)))


def simulate_setting(kind: str, number: int) -> tuple[list[Ingredients], Setting]:
    """Simulate the samples of setting `number`.

    Return the ingredients of each of its REPS samples, and the setting. All random numbers depend
    only on `kind` and `number`.
    """
    rng = np.random.default_rng([16, KINDS.index(kind), number])
    setting = draw_setting(kind, rng)
    samples = []
    for _ in range(REPS):
        p = setting.law(setting.n, rng)
        c = setting.curve(p)
        if kind == "scalar":
            y = (rng.random(setting.n) < c).astype(np.int64)
        else:
            below = rng.random(setting.n)[:, None] > np.cumsum(c, axis=1)
            y = np.minimum(below.sum(axis=1), p.shape[1] - 1)
        fold = assign_folds(y, 5, False, rng)
        samples.append(compute_ingredients(p, y, fold, rng))
    return samples, setting
