"""Simulations behind `harness.estimators.Best`, and the training of its weights.

    python benchmarks/train_best.py simulate scalar FOLDER --settings 2500
    python benchmarks/train_best.py simulate vector FOLDER --settings 2000
    python benchmarks/train_best.py train FOLDER harness/estimators/best_weights.npz

A setting is a law of predictions, a calibration map and a size n, drawn from a broad prior that
does not know the problems of conf/. Its truth is a mean over many predictions. Setting i depends
only on i. Finished chunks of 100 settings are written; running again continues.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from harness.estimators import learned
from harness.estimators.ingredients import compute_ingredients
from harness.math.folds import assign_folds

CHUNK = 100
HIDDEN = {"scalar": (64, 48), "vector": (64, 48)}
FLOORS = {
    "l1": lambda n: 0.1 / np.sqrt(n),
    "l2": lambda n: 0.1 / np.sqrt(n),
    "l2_squared": lambda n: 0.1 / n,
}
# Squared units of noise added to a setting's mean squared error, which few samples may hit by chance.
SMOOTHING = 0.03
DECAY = {"scalar": 1e-3, "vector": 1.5e-3}
JITTER = {"scalar": 0.1, "vector": 0.2}  # noise on standardised features while training
COVERED = 0.995  # of the held-out settings, on each side of an interval
REPS = {"scalar": 6, "vector": 5}
CHEAP = 10_000  # settings from this number on are mostly small, and drawn three times


def log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# Scalars


def scalar_law(rng):
    """Return a function (n, rng) -> p, (n,)."""
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
        one, two, share = scalar_law(rng), scalar_law(rng), rng.random()

        def base(n, r):
            a, b = one(n, r), two(n, r)
            return np.where(r.random(n) < share, a, b)

    how = rng.random()
    if how < 0.15:  # few distinct values
        values = np.unique(base(int(log_uniform(rng, 2, 60)), rng))
        return lambda n, r: values[np.abs(base(n, r)[:, None] - values).argmin(axis=1)]
    if how < 0.25:  # rounded
        digits = int(rng.integers(1, 3))
        return lambda n, r: np.round(base(n, r), digits)
    if how < 0.35:  # an atom
        at, share = float(rng.choice([0.0, 1.0, rng.random()])), rng.random()
        return lambda n, r: np.where(r.random(n) < share, at, base(n, r))
    if how < 0.42:  # saturated
        power = log_uniform(rng, 2, 8)
        return lambda n, r: (
            expit(power * logit(np.clip(base(n, r), 1e-12, 1 - 1e-12)))
            .astype(np.float32)
            .astype(float)
        )
    return base


def scalar_map(rng, reference):
    """Return a function p -> C, (n,) -> (n,); `reference` are sorted predictions of the law."""

    def rank(p):
        return (np.searchsorted(reference, p, "left") + np.searchsorted(reference, p, "right")) / (
            2.0 * len(reference)
        )

    def log_odds(p):
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
        g = lambda p: expit(a * log_odds(p) + b + c * np.clip(log_odds(p), -5, 5) ** 2)  # noqa: E731
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
        f, at = log_uniform(rng, 0.5, 16), rng.random() * 2 * np.pi
        form = np.sin if kind == "wave" else lambda t: np.sign(np.sin(t))
        g = lambda p: p + size * envelope(p) * form(2 * np.pi * f * where(p) + at)  # noqa: E731
    elif kind == "smooth":
        width = log_uniform(rng, 0.02, 1.0)
        w, at, a = (
            rng.normal(0, 1 / width, 40),
            rng.uniform(0, 2 * np.pi, 40),
            rng.normal(size=40) / np.sqrt(20),
        )
        f = lambda p: np.cos(np.outer(where(p), w) + at) @ a  # noqa: E731
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
        at, width = where(rng.choice(reference, 1))[0], log_uniform(rng, 0.01, 0.3)
        big = rng.choice([-1, 1]) * rng.uniform(0.05, 0.5)
        form = (
            (lambda t: np.exp(-t * t / 2))
            if rng.random() < 0.6
            else (lambda t: (np.abs(t) < 1.0) * 1.0)
        )
        g = lambda p: p + big * form((where(p) - at) / width)  # noqa: E731
    elif kind == "constant":
        c = float(np.clip(reference.mean() + rng.normal(0, 0.1), 0, 1))
        g = lambda p: np.full_like(p, c)  # noqa: E731
    else:
        at, slope = rng.random(), rng.uniform(-1.5, 1.5)
        g = lambda p: p.mean() * 0 + reference.mean() + slope * (np.abs(where(p) - at) - 0.25)  # noqa: E731
    share = 1.0 if rng.random() < 0.55 else log_uniform(rng, 0.03, 1.0)
    return lambda p: np.clip(p + share * (np.clip(g(p), 0, 1) - p), 0.0, 1.0)


# Vectors


def vector_law(rng, k):
    """Return a function (n, rng) -> p, (n, k)."""
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
        law = lambda n, r: softmax(heat * r.standard_normal((n, k)) + np.log(base), axis=1)  # noqa: E731
    elif kind == "clusters":
        apart = log_uniform(rng, 0.5, 6)

        def law(n, r):
            centre = r.choice(k, n, p=base)
            return softmax(heat * (r.standard_normal((n, k)) + apart * np.eye(k)[centre]), axis=1)

    elif kind == "low rank":
        mix = rng.normal(size=(int(rng.integers(1, 5)), k))

        def law(n, r):
            return softmax(heat * r.standard_normal((n, len(mix))) @ mix + np.log(base), axis=1)

    else:
        one, two, share = vector_law(rng, k), vector_law(rng, k), rng.random()

        def law(n, r):
            a, b = one(n, r), two(n, r)
            return np.where(r.random(n)[:, None] < share, a, b)

    how = rng.random()
    if how < 0.1:
        values = law(int(log_uniform(rng, 2, 60)), rng)
        odds = rng.dirichlet(np.ones(len(values)))
        return lambda n, r: values[r.choice(len(values), n, p=odds)]
    if how < 0.2:
        power = log_uniform(rng, 2, 6)

        def saturated(n, r):
            p = (
                softmax(power * np.log(np.maximum(law(n, r), 1e-30)), axis=1)
                .astype(np.float32)
                .astype(float)
            )
            return p / p.sum(axis=1, keepdims=True)

        return saturated
    return law


def vector_map(rng, reference):
    """Return a function p -> C, (n, k) -> (n, k)."""
    k = reference.shape[1]

    def log(p):
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
        "cells",
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
        f, at = log_uniform(rng, 0.5, 8), rng.uniform(0, 2 * np.pi)
        inner = log if rng.random() < 0.5 else (lambda p: 3 * p)
        g = lambda p: _normalised(p * np.exp(size * np.sin(f * inner(p) + at)))  # noqa: E731
    elif kind == "local":
        at, width = reference[rng.integers(len(reference))], log_uniform(rng, 0.05, 0.6)
        to = rng.dirichlet(np.full(k, 0.5)) if rng.random() < 0.6 else at[rng.permutation(k)]
        g = lambda p: p + np.exp(-((p - at) ** 2).sum(axis=1) / (2 * width**2))[:, None] * (to - p)  # noqa: E731
    elif kind == "pair":
        a, b = rng.choice(k, 2, replace=False)
        share = rng.uniform(0.1, 1.0)

        def g(p):
            c = p.copy()
            c[:, a], c[:, b] = (1 - share) * p[:, a], p[:, b] + share * p[:, a]
            return c

    elif kind == "class":
        a, b, c = int(rng.integers(k)), log_uniform(rng, 0.3, 3), rng.normal(0, 1)

        def g(p):
            own = expit(b * logit(np.clip(p[:, a], 1e-7, 1 - 1e-7)) + c)
            out = p * ((1 - own) / np.maximum(1 - p[:, a], 1e-7))[:, None]
            out[:, a] = own
            return _normalised(out)

    elif kind == "uniform":
        to = np.full(k, 1.0 / k) if rng.random() < 0.5 else reference.mean(axis=0)
        share = rng.random()
        g = lambda p: p + share * (to - p)  # noqa: E731
    elif kind == "top":
        one = scalar_map(rng, np.sort(reference.max(axis=1)))

        def g(p):
            top, at = p.argmax(axis=1), p.max(axis=1)
            own = one(at)
            out = p * ((1 - own) / np.maximum(1 - at, 1e-7))[:, None] + (at > 1 - 1e-7)[:, None] * (
                1 - own[:, None]
            ) / (k - 1)
            out[np.arange(len(p)), top] = own
            return _normalised(out)

    elif kind == "network":
        width = int(rng.integers(3, 20))
        w, b = rng.normal(size=(k, width)) * log_uniform(rng, 1, 8), rng.normal(size=width)
        v = rng.normal(size=(width, k)) / np.sqrt(width) * 2 * size
        g = lambda p: softmax(log(p) + np.tanh(p @ w + b) @ v, axis=1)  # noqa: E731
    elif kind == "cells":
        centre = reference[rng.integers(len(reference), size=int(rng.integers(2, 20)))]
        nearest = lambda p: ((p[:, None] - centre) ** 2).sum(axis=2).argmin(axis=1)  # noqa: E731
        of = nearest(reference[:2000])
        mean = np.array(
            [
                reference[:2000][of == j].mean(axis=0) if (of == j).any() else centre[j]
                for j in range(len(centre))
            ]
        )
        g = lambda p: mean[nearest(p)]  # noqa: E731
    else:
        share, order = rng.random(), rng.permutation(k)
        g = lambda p: (1 - share) * p + share * p[:, order]  # noqa: E731
    share = 1.0 if rng.random() < 0.55 else log_uniform(rng, 0.03, 1.0)
    return lambda p: _normalised(np.maximum(p + share * (g(p) - p), 0.0))


def _normalised(c):
    return c / np.maximum(c.sum(axis=1, keepdims=True), 1e-300)


# Settings


def setting(kind, number):
    """Return REPS (candidates and features) and the truths of setting `number`."""
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


def simulate(kind, folder, settings, first):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(first, first + settings, CHUNK):
        path = folder / f"{kind}_{start:06d}.npz"
        if path.exists():
            continue
        begun = time.process_time()
        rows = {"features": [], "n": [], "setting": []}
        for i in range(start, start + CHUNK):
            frame, truth, n = setting(kind, i)
            for one in frame:
                rows["features"].append(one.features)
                rows["n"].append(n)
                rows["setting"].append(i)
                for name, value in truth.items():
                    rows.setdefault(f"truth_{name}", []).append(value)
                    rows.setdefault(f"candidates_{name}", []).append(one.candidates[name])
                    rows.setdefault(f"unit_{name}", []).append(one.units[name])
        own = path.with_suffix(".part")
        with open(own, "wb") as file:
            np.savez(
                file,
                **{
                    name: np.array(x, dtype=np.float64 if name != "setting" else np.int64)
                    for name, x in rows.items()
                },
            )
        os.replace(own, path)
        print(path.name, f"{time.process_time() - begun:.1f} CPU seconds", flush=True)


# Training


def train(
    data: Mapping[str, dict[str, np.ndarray]],
    out: Path,
    members: int = 3,
    epochs: int = 60,
    seed: int = 0,
    report: Callable[..., None] = print,
) -> None:
    """Fit the networks of `data`, {kind: arrays of the simulation}, and store them at `out`.

    Minimised is the mean over settings of L + 0.15 max(L, 0)^2, L = log of (mean squared error + floor^2) over that of the best
    single candidate: the logarithm of the regret, and a price for the worst.
    """
    stored: dict[str, Any] = {}
    for kind, rows in data.items():
        for name, x in _train_kind(rows, members, epochs, seed, report, kind).items():
            stored[f"{kind}/{name}"] = x.astype(
                np.float16 if name.startswith(("first", "second", "weigh", "move")) else np.float32
            )
    np.savez_compressed(out, **stored)


def _train_kind(
    rows: dict[str, np.ndarray],
    members: int,
    epochs: int,
    seed: int,
    report: Callable[..., None],
    kind: str,
) -> dict[str, np.ndarray]:
    names = [name for name in FLOORS if f"truth_{name}" in rows]
    number, group = np.unique(rows["setting"], return_inverse=True)
    held = np.random.default_rng([seed, 99]).random(len(number)) < 0.15
    learn = ~held[group]
    centre, spread = (
        rows["features"][learn].mean(axis=0),
        rows["features"][learn].std(axis=0) + 1e-3,
    )
    x = (rows["features"] - centre) / spread
    net = {"centre": centre, "spread": spread}
    predicted: dict[str, list[np.ndarray]] = {name: [] for name in names}
    scales: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for m in range(members):
        w = _fit(
            x, rows, group, names, learn, np.random.default_rng([seed, m]), epochs, report, kind, m
        )
        w = {
            name: a.astype(np.float16).astype(np.float64) for name, a in w.items()
        }  # as they are stored
        h = learned.hidden_layer(w, x)
        for name in names:
            value = np.maximum(
                learned.weighted_mean(w, name, h, rows[f"candidates_{name}"], rows[f"unit_{name}"]),
                0.0,
            )
            predicted[name].append(value)
            error = np.abs(value - rows[f"truth_{name}"]) / rows[f"unit_{name}"]
            z = np.column_stack([np.ones(len(h)), h])[held[group]]
            target = np.log(0.1 + error[held[group]])
            gram = z.T @ z + 3.0 * np.eye(z.shape[1])
            net[f"scale_{name}.{m}"] = np.linalg.solve(gram, z.T @ target)
            scales[name].append(learned.error_scale(net, m, name, h))
        net |= {f"{name}.{m}": a for name, a in w.items()}
    for name in names:
        value, scale = np.mean(predicted[name], axis=0), np.mean(scales[name], axis=0)
        signed = (rows[f"truth_{name}"] - value) / (scale * rows[f"unit_{name}"])
        apart = signed[held[group]]
        net[f"conformal_{name}"] = np.maximum(
            [np.quantile(-apart, COVERED), np.quantile(apart, COVERED)], 0.5
        )
        log = _log_regret(value, rows, group, name)
        report(kind, name, f"learned {np.exp(log[~held].mean()):.3f}, apart {np.exp(log[held].mean()):.3f}",
               f"worst tenth {np.exp(np.quantile(log[held], 0.9)):.2f}", net[f"conformal_{name}"])  # fmt: skip
    return net


def _log_regret(
    value: np.ndarray, rows: dict[str, np.ndarray], group: np.ndarray, name: str
) -> np.ndarray:
    """Per setting, of max(RMSE, floor), relative to the best candidate."""
    n = np.bincount(group, rows["n"]) / np.bincount(group)
    truth = rows[f"truth_{name}"]
    own = _per_setting((value - truth) ** 2, group)
    best = _per_setting((rows[f"candidates_{name}"] - truth[:, None]) ** 2, group).min(axis=1)
    floor = FLOORS[name](n) ** 2
    return 0.5 * np.log(np.maximum(own, floor) / np.maximum(best, floor))


def _per_setting(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    size = np.bincount(group)
    if x.ndim == 1:
        return np.bincount(group, x) / size
    return np.column_stack([np.bincount(group, c) for c in x.T]) / size[:, None]


def _fit(
    x: np.ndarray,
    rows: dict[str, np.ndarray],
    group: np.ndarray,
    names: Sequence[str],
    learn: np.ndarray,
    rng: np.random.Generator,
    epochs: int,
    report: Callable[..., None],
    kind: str,
    m: int,
) -> dict[str, np.ndarray]:
    sizes = [x.shape[1], *HIDDEN[kind]]
    w = {}
    for name, a, b in (("first", sizes[0], sizes[1]), ("second", sizes[1], sizes[2])):
        w[name], w[f"{name}_shift"] = rng.normal(size=(a, b)) / np.sqrt(a), np.zeros(b)
    for name in names:
        j = rows[f"candidates_{name}"].shape[1]
        w[f"weigh_{name}"], w[f"weigh_{name}_shift"] = (
            0.3 * rng.normal(size=(sizes[2], j)) / np.sqrt(sizes[2]),
            np.zeros(j),
        )
        w[f"move_{name}"] = np.zeros((sizes[2], 1))
    settings = np.unique(group[learn])
    where = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
    n = rows["n"]
    floors = {name: FLOORS[name](n) ** 2 + SMOOTHING * rows[f"unit_{name}"] ** 2 for name in names}
    best = {
        name: np.log(_per_setting((rows[f"candidates_{name}"] - rows[f"truth_{name}"][:, None]) ** 2, group).min(axis=1)
                     + _per_setting(floors[name], group)) for name in names
    }  # fmt: skip
    first = {name: np.zeros_like(a) for name, a in w.items()}
    second = {name: np.zeros_like(a) for name, a in w.items()}
    average = {name: np.zeros_like(a) for name, a in w.items()}
    averaged = 0
    step = 0
    batch = 64
    for epoch in range(epochs):
        rate = 3e-3 * 0.5 * (1.0 + np.cos(np.pi * epoch / epochs)) + 3e-5
        order = rng.permutation(settings)
        total = 0.0
        for i in range(0, len(order), batch):
            chosen = order[i : i + batch]
            index = np.concatenate([where[starts[s] : starts[s + 1]] for s in chosen])
            reps = np.repeat(np.arange(len(chosen)), [starts[s + 1] - starts[s] for s in chosen])
            loss, slope = _slopes(
                w,
                x[index],
                rows,
                index,
                reps,
                names,
                floors,
                {name: best[name][chosen] for name in names},
                rng,
                JITTER[kind],
            )
            total += loss * len(chosen)
            step += 1
            for name, g in slope.items():
                g = g + DECAY[kind] * w[name]
                first[name] = 0.9 * first[name] + 0.1 * g
                second[name] = 0.998 * second[name] + 0.002 * g * g
                w[name] = w[name] - rate * (first[name] / (1 - 0.9**step)) / (
                    np.sqrt(second[name] / (1 - 0.998**step)) + 1e-6
                )
        if epoch >= 0.8 * epochs:
            averaged += 1
            for name in w:
                average[name] += w[name]
        if epoch % 40 == 0 or epoch == epochs - 1:
            report(kind, m, "epoch", epoch, f"{total / len(order):.4f}", flush=True)
    return {name: a / averaged for name, a in average.items()}


def _slopes(
    w: dict[str, np.ndarray],
    x: np.ndarray,
    rows: dict[str, np.ndarray],
    index: np.ndarray,
    reps: np.ndarray,
    names: Sequence[str],
    floors: dict[str, np.ndarray],
    best: dict[str, np.ndarray],
    rng: np.random.Generator,
    jitter: float = 0.0,
) -> tuple[float, dict[str, np.ndarray]]:
    """(mean loss over the settings and estimands, its gradients)."""
    x = x + jitter * rng.normal(size=x.shape)  # noise: no feature may be trusted to the last digit
    a = np.tanh(x @ w["first"] + w["first_shift"])
    keep = (rng.random((len(x), w["second"].shape[1])) < 0.9) / 0.9
    h0 = np.tanh(a @ w["second"] + w["second_shift"])
    h = h0 * keep
    count = np.bincount(reps)
    slope = {}
    back = np.zeros_like(h)
    loss = 0.0
    for name in names:
        candidates, unit, truth = (
            rows[f"candidates_{name}"][index],
            rows[f"unit_{name}"][index],
            rows[f"truth_{name}"][index],
        )
        z = h @ w[f"weigh_{name}"] + w[f"weigh_{name}_shift"]
        e = np.exp(z - z.max(axis=1, keepdims=True))
        share = e / e.sum(axis=1, keepdims=True)
        mean = (share * candidates).sum(axis=1)
        t = np.tanh(h @ w[f"move_{name}"])[:, 0]
        error = mean + learned.LARGEST_SHIFT * unit * t - truth
        mse = np.bincount(reps, error**2) / count + np.bincount(reps, floors[name][index]) / count
        log = np.log(mse) - best[name]
        loss += (log + 0.15 * np.maximum(log, 0.0) ** 2).mean()
        outer = (1.0 + 0.3 * np.maximum(log, 0.0)) / len(count)
        d = (outer / mse / count)[reps] * 2.0 * error
        dz = d[:, None] * share * (candidates - mean[:, None])
        dt = (d * learned.LARGEST_SHIFT * unit * (1.0 - t * t))[:, None]
        slope[f"weigh_{name}"], slope[f"weigh_{name}_shift"] = h.T @ dz, dz.sum(axis=0)
        slope[f"move_{name}"] = h.T @ dt
        back += dz @ w[f"weigh_{name}"].T + dt @ w[f"move_{name}"].T
    back = back * keep * (1.0 - h0 * h0)
    slope["second"], slope["second_shift"] = a.T @ back, back.sum(axis=0)
    back = back @ w["second"].T * (1.0 - a * a)
    slope["first"], slope["first_shift"] = x.T @ back, back.sum(axis=0)
    return loss / len(names), {name: g / len(names) for name, g in slope.items()}


def load(kind, folder):
    parts = [np.load(path) for path in sorted(Path(folder).glob(f"{kind}_*.npz"))]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("simulate")
    one.add_argument("kind", choices=list(REPS))
    one.add_argument("folder")
    one.add_argument("--settings", type=int, default=3000)
    one.add_argument("--first", type=int, default=0)
    two = commands.add_parser("train")
    two.add_argument("folder")
    two.add_argument("out")
    given = parser.parse_args()
    if given.command == "simulate":
        simulate(given.kind, given.folder, given.settings, given.first)
    else:
        train({kind: load(kind, given.folder) for kind in REPS}, given.out)


if __name__ == "__main__":
    main()
