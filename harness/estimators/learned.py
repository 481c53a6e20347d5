"""A small network that weighs candidate estimates by what a sample looks like, and its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from harness.estimators.ingredients import Ingredients

WEIGHTS = "best_weights.npz"
HIDDEN = {"scalar": (64, 48), "vector": (64, 48)}
FLOORS = {
    "l1": lambda n: 0.1 / np.sqrt(n),
    "l2": lambda n: 0.1 / np.sqrt(n),
    "l2_squared": lambda n: 0.1 / n,
}
LARGEST_SHIFT = 1.0  # in units of noise, of what is added to the weighted mean
SMOOTHING = 0.03  # squared units of noise that are added to a setting's mean squared error: its few samples may hit by chance
DECAY = {"scalar": 1e-3, "vector": 1.5e-3}
JITTER = {"scalar": 0.1, "vector": 0.2}  # noise on standardised features while training
COVERED = 0.995  # of the settings apart, on each side of an interval
SMALLEST_SCALE = 0.1  # in units of noise


@lru_cache(maxsize=4)
def model(kind: str) -> dict[str, np.ndarray]:
    """The stored arrays of the "scalar" or "vector" network."""
    with (
        resources.files("harness.estimators").joinpath(WEIGHTS).open("rb") as file,
        np.load(file) as stored,
    ):
        return {
            name.partition("/")[2]: stored[name].astype(np.float64)
            for name in stored.files
            if name.startswith(kind + "/")
        }


@lru_cache(maxsize=4)
def members(kind: str) -> list[dict[str, np.ndarray]]:
    """The arrays of each network that the answer is the mean of."""
    net = model(kind)
    count = sum(name.startswith("first.") for name in net)
    return [
        {name.rpartition(".")[0]: x for name, x in net.items() if name.endswith(f".{m}")}
        for m in range(count)
    ]


def evaluate(kind: str, ingredients: Ingredients) -> dict[str, tuple[float, float, float]]:
    """Evaluate the network of "scalar" or "vector" `Ingredients`.

    Returns
    -------
    dict
        {estimand: (value, below, above)}: the estimate, and how far the ends of its 95 % interval lie from it. value - below may
        be negative: whoever moves the value moves the interval, and cuts it at 0 afterwards.
    """
    net, parts = model(kind), members(kind)
    x = ((ingredients.features - net["centre"]) / net["spread"])[None]
    hidden = [_hidden(part, x) for part in parts]
    answers = {}
    for name, candidates in ingredients.candidates.items():
        values, scales, unit = [], [], ingredients.units[name]
        for m, (part, h) in enumerate(zip(parts, hidden)):
            values.append(_value(part, name, h, candidates[None], np.array([unit]))[0])
            scales.append(_scale(net, m, name, h)[0])
        value = max(float(np.mean(values)), 0.0)
        scale = float(np.mean(scales)) * unit
        below, above = net[f"conformal_{name}"]
        answers[name] = (value, float(below * scale), float(above * scale))
    return answers


def _hidden(w: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    return np.tanh(np.tanh(x @ w["first"] + w["first_shift"]) @ w["second"] + w["second_shift"])


def _value(
    w: dict[str, np.ndarray], name: str, h: np.ndarray, candidates: np.ndarray, unit: np.ndarray
) -> np.ndarray:
    z = h @ w[f"weigh_{name}"] + w[f"weigh_{name}_shift"]
    e = np.exp(z - z.max(axis=1, keepdims=True))
    share = e / e.sum(axis=1, keepdims=True)
    shift = LARGEST_SHIFT * np.tanh(h @ w[f"move_{name}"])
    return (share * candidates).sum(axis=1) + unit * shift[:, 0]


def _scale(net: dict[str, np.ndarray], m: int, name: str, h: np.ndarray) -> np.ndarray:
    z = np.column_stack([np.ones(len(h)), h]) @ net[f"scale_{name}.{m}"]
    return SMALLEST_SCALE + np.exp(np.clip(z, -4.0, 6.0))


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
        h = _hidden(w, x)
        for name in names:
            value = np.maximum(
                _value(w, name, h, rows[f"candidates_{name}"], rows[f"unit_{name}"]), 0.0
            )
            predicted[name].append(value)
            error = np.abs(value - rows[f"truth_{name}"]) / rows[f"unit_{name}"]
            z = np.column_stack([np.ones(len(h)), h])[held[group]]
            target = np.log(0.1 + error[held[group]])
            gram = z.T @ z + 3.0 * np.eye(z.shape[1])
            net[f"scale_{name}.{m}"] = np.linalg.solve(gram, z.T @ target)
            scales[name].append(_scale(net, m, name, h))
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
        error = mean + LARGEST_SHIFT * unit * t - truth
        mse = np.bincount(reps, error**2) / count + np.bincount(reps, floors[name][index]) / count
        log = np.log(mse) - best[name]
        loss += (log + 0.15 * np.maximum(log, 0.0) ** 2).mean()
        outer = (1.0 + 0.3 * np.maximum(log, 0.0)) / len(count)
        d = (outer / mse / count)[reps] * 2.0 * error
        dz = d[:, None] * share * (candidates - mean[:, None])
        dt = (d * LARGEST_SHIFT * unit * (1.0 - t * t))[:, None]
        slope[f"weigh_{name}"], slope[f"weigh_{name}_shift"] = h.T @ dz, dz.sum(axis=0)
        slope[f"move_{name}"] = h.T @ dt
        back += dz @ w[f"weigh_{name}"].T + dt @ w[f"move_{name}"].T
    back = back * keep * (1.0 - h0 * h0)
    slope["second"], slope["second_shift"] = a.T @ back, back.sum(axis=0)
    back = back @ w["second"].T * (1.0 - a * a)
    slope["first"], slope["first_shift"] = x.T @ back, back.sum(axis=0)
    return loss / len(names), {name: g / len(names) for name, g in slope.items()}
