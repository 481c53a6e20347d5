"""Prior distribution of the simulations that train `harness.estimators.Best` (train_best.py).

A setting is a distribution of predictions, a calibration map and a sample size n. Each is drawn
from a broad prior that uses no problem of conf/. The true calibration errors of a setting are means
over many predictions. The random numbers of setting i depend only on i.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit, softmax

from harness.estimators.ingredient_members import Ingredients
from harness.estimators.ingredients import compute_ingredients
from harness.math.folds import assign_folds

Law = Callable[[int, np.random.Generator], np.ndarray]  # (n, rng) -> predictions
Map = Callable[[np.ndarray], np.ndarray]  # predictions p -> C = E[Y given p]

REPS = {"scalar": 6, "vector": 5}
# settings with this number or a larger one mostly have a small n, and 3 samples each
CHEAP = 10_000


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number between `low` and `high` whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# Scalars


def scalar_law(rng: np.random.Generator) -> Law:
    """Draw a distribution of scalar predictions. Return its sampler (n, rng) -> p (n,)."""
    kind = rng.choice(["beta", "logit", "uniform", "top", "two"], p=[0.3, 0.25, 0.1, 0.2, 0.15])
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
    if how < 0.42:  # saturated: many predictions are near 0 or 1
        power = log_uniform(rng, 2, 8)
        return lambda n, r: (
            expit(power * logit(np.clip(base(n, r), 1e-12, 1 - 1e-12)))
            .astype(np.float32)
            .astype(float)
        )
    return base


def scalar_map(rng: np.random.Generator, reference: np.ndarray) -> Map:
    """Draw a calibration map of scalars. Return it as a function p (n,) -> C (n,).

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
    kind = rng.choice(kinds, p=[0.22, 0.07, 0.06, 0.13, 0.04, 0.15, 0.08, 0.07, 0.1, 0.03, 0.05])
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
        f, phase = log_uniform(rng, 0.5, 16), rng.random() * 2 * np.pi
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
    return lambda p: np.clip(p + share * (np.clip(g(p), 0, 1) - p), 0.0, 1.0)


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
    if how < 0.1:
        values = law(int(log_uniform(rng, 2, 60)), rng)
        odds = rng.dirichlet(np.ones(len(values)))
        return lambda n, r: values[r.choice(len(values), n, p=odds)]
    if how < 0.2:
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


def vector_map(rng: np.random.Generator, reference: np.ndarray) -> Map:
    """Draw a calibration map of vectors. Return it as a function p (n, k) -> C (n, k).

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
        "pair",
        "class",
        "uniform",
        "top",
        "network",
        "regions",
        "swap",
    ]
    kind = rng.choice(
        kinds, p=[0.18, 0.1, 0.06, 0.14, 0.11, 0.08, 0.06, 0.06, 0.08, 0.06, 0.04, 0.03]
    )
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

    elif kind == "pair":
        a, b = rng.choice(k, 2, replace=False)
        share = rng.uniform(0.1, 1.0)

        def g(p: np.ndarray) -> np.ndarray:
            c = p.copy()
            c[:, a], c[:, b] = (1 - share) * p[:, a], p[:, b] + share * p[:, a]
            return c

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
        top_map = scalar_map(rng, np.sort(reference.max(axis=1)))

        def g(p: np.ndarray) -> np.ndarray:
            top, largest = p.argmax(axis=1), p.max(axis=1)
            mapped = top_map(largest)
            is_certain = (largest > 1 - 1e-7)[:, None]
            out = p * ((1 - mapped) / np.maximum(1 - largest, 1e-7))[:, None]
            out = out + is_certain * (1 - mapped[:, None]) / (k - 1)
            out[np.arange(len(p)), top] = mapped
            return _normalised(out)

    elif kind == "network":
        width = int(rng.integers(3, 20))
        w, b = rng.normal(size=(k, width)) * log_uniform(rng, 1, 8), rng.normal(size=width)
        v = rng.normal(size=(width, k)) / np.sqrt(width) * 2 * size
        g = lambda p: softmax(log(p) + np.tanh(p @ w + b) @ v, axis=1)  # noqa: E731
    elif kind == "regions":
        centre = reference[rng.integers(len(reference), size=int(rng.integers(2, 20)))]
        nearest = lambda p: ((p[:, None] - centre) ** 2).sum(axis=2).argmin(axis=1)  # noqa: E731
        part = nearest(reference[:2000])
        mean = np.array(
            [
                reference[:2000][part == j].mean(axis=0) if (part == j).any() else centre[j]
                for j in range(len(centre))
            ]
        )
        g = lambda p: mean[nearest(p)]  # noqa: E731
    else:
        share, order = rng.random(), rng.permutation(k)
        g = lambda p: (1 - share) * p + share * p[:, order]  # noqa: E731
    share = 1.0 if rng.random() < 0.55 else log_uniform(rng, 0.03, 1.0)
    return lambda p: _normalised(np.maximum(p + share * (g(p) - p), 0.0))


def _normalised(c: np.ndarray) -> np.ndarray:
    return c / np.maximum(c.sum(axis=1, keepdims=True), 1e-300)


# Settings


def setting(kind: str, number: int) -> tuple[list[Ingredients], dict[str, float], int]:
    """Draw the samples of setting `number`, and return (ingredients, truths, n).

    ingredients is a list with one entry per sample: the result of `compute_ingredients`, from which
    the estimator `Best` computes its inputs. truths is {estimand: true value}, and n the number of
    rows of a sample. A setting has REPS[kind] samples, or 3 if `number` is at least CHEAP.
    """
    rng = np.random.default_rng([14, {"scalar": 0, "vector": 1}[kind], number])
    calibrated = rng.random() < 0.1
    reps, many = (3, 20_000) if number >= CHEAP else (REPS[kind], 40_000)
    low, high = (120, 1500) if number >= CHEAP and rng.random() < 0.75 else (120, 7000)
    if kind == "scalar":
        n = int(log_uniform(rng, low, high))
        law = scalar_law(rng)
        many = law(many, rng)
        curve = scalar_map(rng, np.sort(many[:10000]))
    else:
        share = [0.06] + [0.12] * 3 + [0.1] + [0.12] * 3 + [0.1, 0.02]
        k = int(rng.choice([2, 3, 3, 4, 5, 10, 10, 10, int(log_uniform(rng, 2, 40)), 100], p=share))
        n = int(log_uniform(rng, low, min(high, 60000 / k)))
        law = vector_law(rng, k)
        many = law(min(many // 2, 400000 // k), rng)
        curve = vector_map(rng, many)
    if calibrated:
        curve = lambda p: p  # noqa: E731
    gap = many - curve(many)
    if kind == "scalar":
        truth = {"l1": np.abs(gap).mean(), "l2_squared": (gap**2).mean()}
    else:
        squares = (gap**2).sum(axis=1)
        truth = {
            "l1": np.abs(gap).sum(axis=1).mean(),
            "l2_squared": squares.mean(),
            "l2": np.sqrt(squares).mean(),
        }
    candidates = []
    for _ in range(reps):
        p = law(n, rng)
        c = curve(p)
        if kind == "scalar":
            y = (rng.random(n) < c).astype(np.int64)
        else:
            y = np.minimum(
                (rng.random(n)[:, None] > np.cumsum(c, axis=1)).sum(axis=1), p.shape[1] - 1
            )
        candidates.append(compute_ingredients(p, y, assign_folds(y, 5, False, rng), rng))
    return candidates, truth, n
