"""Run the simulations for `harness.estimators.Best`, and train its weights.

    python benchmarks/train_best.py simulate scalar FOLDER --settings 2500
    python benchmarks/train_best.py simulate vector FOLDER --settings 2000
    python benchmarks/train_best.py train FOLDER harness/estimators/best_weights.npz

Settings are drawn from the prior in best_prior.py. The simulation writes a file after every 100
settings, and running it again continues.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from best_prior import REPS, setting

from harness.estimators import learned

CHUNK = 100
HIDDEN = {"scalar": (64, 48), "vector": (64, 48)}
FLOORS = {
    "l1": lambda n: 0.1 / np.sqrt(n),
    "l2": lambda n: 0.1 / np.sqrt(n),
    "l2_squared": lambda n: 0.1 / n,
}
# Added to the mean squared error of a setting, in squared units of noise. With few samples, an
# error
# can be small by chance.
SMOOTHING = 0.03
DECAY = {"scalar": 1e-3, "vector": 1.5e-3}
# standard deviation of noise that training adds to the standardised features
JITTER = {"scalar": 0.1, "vector": 0.2}
COVERED = 0.995  # quantile of the held-out settings' errors that sets each side of an interval


def simulate(kind: str, folder: Path, settings: int, first: int) -> None:
    """Simulate settings first, ..., first + settings - 1, and store one file per 100 settings."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(first, first + settings, CHUNK):
        path = folder / f"{kind}_{start:06d}.npz"
        if path.exists():
            continue
        begun = time.process_time()
        rows: dict[str, list[Any]] = {"features": [], "n": [], "setting": []}
        for i in range(start, start + CHUNK):
            samples, truth, n = setting(kind, i)
            for sample in samples:
                rows["features"].append(sample.features)
                rows["n"].append(n)
                rows["setting"].append(i)
                for name, value in truth.items():
                    rows.setdefault(f"truth_{name}", []).append(value)
                    rows.setdefault(f"candidates_{name}", []).append(sample.candidates[name])
                    rows.setdefault(f"unit_{name}", []).append(sample.units[name])
        temporary = path.with_suffix(".part")
        with open(temporary, "wb") as file:
            np.savez(
                file,
                **{
                    name: np.array(x, dtype=np.float64 if name != "setting" else np.int64)
                    for name, x in rows.items()
                },
            )
        os.replace(temporary, path)
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
    """Train the networks of both kinds and store their weights at `out`.

    `data` is {kind: arrays of the simulation}. The loss is the mean over settings of

        L + 0.15 max(L, 0)^2,   L = log((MSE + floor^2) / (MSE_1 + floor^2))

    MSE is the mean squared error of `Best` over the samples of a setting. MSE_1 is that of the
    single candidate estimator that is best in the setting. L is the logarithm of the squared
    regret, and the second term penalises the worst settings.
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
    held_out = np.random.default_rng([seed, 99]).random(len(number)) < 0.15
    learn = ~held_out[group]
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
        # round the weights as in the stored file
        w = {name: a.astype(np.float16).astype(np.float64) for name, a in w.items()}
        h = learned.hidden_layer(w, x)
        for name in names:
            value = np.maximum(
                learned.weighted_mean(w, name, h, rows[f"candidates_{name}"], rows[f"unit_{name}"]),
                0.0,
            )
            predicted[name].append(value)
            error = np.abs(value - rows[f"truth_{name}"]) / rows[f"unit_{name}"]
            z = np.column_stack([np.ones(len(h)), h])[held_out[group]]
            target = np.log(0.1 + error[held_out[group]])
            gram = z.T @ z + 3.0 * np.eye(z.shape[1])
            net[f"scale_{name}.{m}"] = np.linalg.solve(gram, z.T @ target)
            scales[name].append(learned.error_scale(net, m, name, h))
        net |= {f"{name}.{m}": a for name, a in w.items()}
    for name in names:
        value, scale = np.mean(predicted[name], axis=0), np.mean(scales[name], axis=0)
        signed = (rows[f"truth_{name}"] - value) / (scale * rows[f"unit_{name}"])
        new = signed[held_out[group]]
        net[f"conformal_{name}"] = np.maximum(
            [np.quantile(-new, COVERED), np.quantile(new, COVERED)], 0.5
        )
        log = _log_regret(value, rows, group, name)
        report(
            kind,
            name,
            f"learned {np.exp(log[~held_out].mean()):.3f}, "
            f"held out {np.exp(log[held_out].mean()):.3f}",
            f"worst tenth {np.exp(np.quantile(log[held_out], 0.9)):.2f}",
            net[f"conformal_{name}"],
        )
    return net


def _log_regret(
    value: np.ndarray, rows: dict[str, np.ndarray], group: np.ndarray, name: str
) -> np.ndarray:
    """Return log(max(RMSE, floor) / max(RMSE of the best candidate, floor)) for each setting."""
    n = np.bincount(group, rows["n"]) / np.bincount(group)
    truth = rows[f"truth_{name}"]
    mse = _per_setting((value - truth) ** 2, group)
    best = _per_setting((rows[f"candidates_{name}"] - truth[:, None]) ** 2, group).min(axis=1)
    floor = FLOORS[name](n) ** 2
    return 0.5 * np.log(np.maximum(mse, floor) / np.maximum(best, floor))


def _per_setting(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the mean over rows of each setting. `group` is the index of each row's setting."""
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
    best = {}
    for name in names:
        squares = (rows[f"candidates_{name}"] - rows[f"truth_{name}"][:, None]) ** 2
        least = _per_setting(squares, group).min(axis=1)
        best[name] = np.log(least + _per_setting(floors[name], group))
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
    """Return the mean loss over settings and estimands, and its gradient for each weight array."""
    # noise, so that the network does not rely on the last digits of a feature
    x = x + jitter * rng.normal(size=x.shape)
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


def load(kind: str, folder: Path) -> dict[str, np.ndarray]:
    """Return {name: array} of all stored simulations of a kind."""
    parts = [np.load(path) for path in sorted(folder.glob(f"{kind}_*.npz"))]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    simulation = commands.add_parser("simulate")
    simulation.add_argument("kind", choices=list(REPS))
    simulation.add_argument("folder", type=Path)
    simulation.add_argument("--settings", type=int, default=3000)
    simulation.add_argument("--first", type=int, default=0)
    training = commands.add_parser("train")
    training.add_argument("folder", type=Path)
    training.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "simulate":
        simulate(arguments.kind, arguments.folder, arguments.settings, arguments.first)
    else:
        train({kind: load(kind, arguments.folder) for kind in REPS}, arguments.out)


if __name__ == "__main__":
    main()
