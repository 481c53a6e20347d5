"""Run the simulations for `harness.estimators.Best`, and train its weights.

    python tools/train_best.py FOLDER harness/estimators/best_weights.npz --jobs 2

This makes the stored networks of scalars and of vectors again. Settings are drawn from the prior in
best_prior.py. The simulation writes a file after every 100 settings into a folder of FOLDER that is
named by the kind and the hash of its code. Running it again continues, and other code starts anew.
It takes 35 CPU minutes, and the training two. The weights say which code, seed, commit and
simulations made them. Processors round differently, so that another machine may get other last
digits.

`--prior` weights the settings by their true error. docs/explanation/best.md compares the priors.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from subprocess import run
from typing import Any

import best_prior
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from harness.common.writing import whole_file
from harness.configure.options import option
from harness.estimators import learned

CHUNK = 100
SETTINGS = {"scalar": 20_000, "vector": 12_000}
CELLS = 12  # cells of the log error in which simulated settings share a weight
HIDDEN = (64, 48)
FLOORS = {
    "l1": lambda n: 0.1 / np.sqrt(n),
    "l2": lambda n: 0.1 / np.sqrt(n),
    "l2_squared": lambda n: 0.1 / n,
}
# Added to the mean squared error of a setting, in squared units of noise. With few samples, an
# error can be small by chance.
SMOOTHING = 1.0
DECAY = 1e-3
JITTER = 0.1  # standard deviation of noise that training adds to the standardised features
BATCH = 64  # settings of a step
PARTS = ("weights", "widths", "levels")  # what a setting is used for: networks, widths, factors
PART_SHARES = (0.75, 0.1, 0.15)
QUANTILE = 0.975
# Share of the shapes whose intervals hold the level. With all shapes, the intervals were 2.2 times
# as wide as the narrowest of fixed width on the development families, and with 3/4, 1.3 times.
SHAPES_COVERED = 0.9
SMALL = "small"  # shape of the settings whose error is below the prior's lower limit
WIDTH_STEPS = 1500
# Ridge of the widths. Vectors have fewer settings than scalars. With 1e-4, their intervals were
# 12 % wider at the same coverage on the development families.
WIDTH_DECAY = {"scalar": 1e-4, "vector": 1e-2}


def simulate(kind: str, folder: Path, settings: int, jobs: int) -> None:
    """Simulate settings 0, ..., settings - 1, and store one file per CHUNK settings."""
    paths = [folder / f"{kind}_{start:06d}.npz" for start in range(0, settings, CHUNK)]
    missing = [path for path in paths if not path.exists()]
    begun = time.monotonic()
    parallel = Parallel(jobs, return_as="generator_unordered")
    for done, seconds in enumerate(parallel(delayed(_simulate_chunk)(p) for p in missing), 1):
        left = (time.monotonic() - begun) / done * (len(missing) - done) / 60.0
        print(
            f"{kind}: {len(paths) - len(missing) + done} of {len(paths)} files, "
            f"{seconds:.1f} CPU seconds, {left:.0f} min left", flush=True,
        )  # fmt: skip


def _simulate_chunk(path: Path) -> float:
    """Simulate the settings of a file, store it, and return the CPU seconds."""
    begun = time.process_time()
    kind, start = path.stem.split("_")
    with threadpool_limits(1), whole_file(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **simulate_rows(kind, range(int(start), int(start) + CHUNK)))
    return time.process_time() - begun


def simulate_rows(kind: str, numbers: Iterable[int]) -> dict[str, np.ndarray]:
    """Return {name: array} with one row per sample of the settings with these numbers.

    The arrays are features (rows, features), n, setting, shape, rarity, events and classes (rows,),
    and for each estimand E: truth_E, unit_E and lowest_E (rows,) and candidates_E (rows,
    candidates).
    """
    names = "features", "n", "setting", "shape", "rarity", "events", "classes"
    rows: dict[str, list[Any]] = {name: [] for name in names}
    for number in numbers:
        samples, setting = best_prior.simulate_setting(kind, number)
        for sample in samples:
            rows["features"].append(sample.features)
            rows["n"].append(setting.n)
            rows["setting"].append(number)
            rows["shape"].append(setting.shape)
            rows["rarity"].append(setting.rarity)
            rows["events"].append(sample.events)
            rows["classes"].append(sample.classes)
            for name, value in setting.truth.items():
                rows.setdefault(f"truth_{name}", []).append(value)
                rows.setdefault(f"candidates_{name}", []).append(sample.candidates[name])
                rows.setdefault(f"unit_{name}", []).append(sample.units[name])
                rows.setdefault(f"lowest_{name}", []).append(sample.lowest[name])
    types = {"setting": np.int64, "n": np.int64, "shape": np.str_, "classes": np.int64}
    return {name: np.array(x, dtype=types.get(name, np.float32)) for name, x in rows.items()}


# Training


@dataclass(frozen=True)
class Prior:
    """Prior of the true L1 error: log-uniform between two limits, with smaller and larger errors.

    Parameters
    ----------
    low, high : float
        Limits of the L1 error, divided by `best_prior.rarity`.
    below, above : float
        Shares of settings with a smaller error (calibrated ones included), and with a larger one.
    """

    low: float
    high: float
    below: float
    above: float

    def weights(self, size: np.ndarray) -> np.ndarray:
        """Return the weights of simulated settings with errors of `size` (settings,), with mean 1.

        The range of the log sizes is cut into CELLS cells, in which the simulated settings share
        the weight of their cell.
        """
        edges = np.linspace(np.log(self.low), np.log(self.high), CELLS + 1)
        cell = np.digitize(np.log(np.maximum(size, 1e-12)), edges)
        inside = (1.0 - self.below - self.above) / CELLS
        share = np.array([self.below, *[inside] * CELLS, self.above])
        weight = (share / np.maximum(np.bincount(cell, minlength=CELLS + 2), 1))[cell]
        return np.asarray(weight / weight.mean())


# Priors of each kind. "stated" makes the stored weights. docs/explanation/best.md compares all.
PRIORS = {
    "stated": {"scalar": Prior(0.01, 0.25, 0.05, 0.05), "vector": Prior(0.045, 0.375, 0.05, 0.05)},
    "calibrated": {
        "scalar": Prior(0.01, 0.25, 0.4, 0.05),
        "vector": Prior(0.045, 0.375, 0.4, 0.05),
    },
    "wide": {"scalar": Prior(0.002, 0.5, 0.05, 0.05), "vector": Prior(0.003, 0.75, 0.05, 0.05)},
}
LEAST_RARITY = 1e-3  # of the limits of the errors


@dataclass(frozen=True)
class Rows:
    """Simulated samples of one kind, one row per sample.

    Parameters
    ----------
    x : array (rows, features)
        Features.
    n, group : arrays (rows,)
        Sample size, and index of the setting.
    truth, unit, lowest : dict of str to array (rows,)
        True value, unit of noise, and lower bound by the stack, for each estimand.
    candidates : dict of str to array (rows, candidates)
        Candidate estimates of each estimand.
    shape : array (rows,)
        Kind of the calibration map, or SMALL if the error is below the prior's lower limit.
    places : dict of str to array (rows,)
        Where the widths have factors: values of each axis of `learned.KNOTS`.
    weight : array (settings,)
        Weight of each setting under the prior, with mean 1.
    part : array (settings,)
        What a setting is used for, a value in PARTS.
    """

    x: np.ndarray
    n: np.ndarray
    group: np.ndarray
    truth: dict[str, np.ndarray]
    unit: dict[str, np.ndarray]
    lowest: dict[str, np.ndarray]
    candidates: dict[str, np.ndarray]
    shape: np.ndarray
    places: dict[str, np.ndarray]
    weight: np.ndarray
    part: np.ndarray

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray], prior: Prior, seed: int) -> Rows:
        """Make rows from the arrays of `simulate_rows`. Settings are weighted by `prior`."""
        group = np.unique(arrays["setting"], return_inverse=True)[1]
        names = [name for name in FLOORS if f"truth_{name}" in arrays]
        truth, unit, lowest, candidates = (
            {name: arrays[f"{part}_{name}"].astype(np.float64) for name in names}
            for part in ("truth", "unit", "lowest", "candidates")
        )
        size = truth["l1"] / np.maximum(arrays["rarity"], LEAST_RARITY)
        weight = prior.weights(per_setting(size, group))
        shape = np.where(size < prior.low, SMALL, arrays["shape"])
        places = {axis: arrays[axis] for axis in learned.KNOTS}
        part = np.random.default_rng([seed, 99]).choice(PARTS, len(weight), p=PART_SHARES)
        x, n = arrays["features"].astype(np.float64), arrays["n"]
        return cls(
            x,
            n,
            group,
            truth,
            unit,
            lowest,
            candidates,
            shape,
            places,
            weight,
            part,
        )

    def in_part(self, part: str) -> np.ndarray:
        """Return the mask of the rows whose settings belong to a part."""
        mask: np.ndarray = (self.part == part)[self.group]
        return mask

    def floors(self, name: str) -> np.ndarray:
        """Return the squared error per row below which errors count as equal, (rows,)."""
        return FLOORS[name](self.n) ** 2 + SMOOTHING * self.unit[name] ** 2


def train(
    rows: Rows,
    width_decay: float,
    members: int = 3,
    epochs: int = 25,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> dict[str, np.ndarray]:
    """Train an ensemble of networks and its intervals, and return {name: array}.

    The loss is the weighted mean over settings of

        L + 0.15 max(L, 0)^2,   L = log((MSE + floor^2) / (MSE_1 + floor^2))

    MSE is the mean squared error of the network over the samples of a setting. MSE_1 is that of the
    single candidate estimator that is best in the setting. L is the logarithm of the squared
    regret, and the second term penalises the worst settings.
    """
    net = learned.standardisation(rows.x[rows.in_part("weights")])
    x = (rows.x - net["centre"]) / net["spread"]
    networks = []
    for member in range(members):
        begun = time.process_time()
        weights, loss = _fit(rows, x, np.random.default_rng([seed, member]), epochs)
        # round the weights as in the stored file
        weights = {name: a.astype(np.float16).astype(np.float64) for name, a in weights.items()}
        networks.append(weights)
        net |= {f"{name}.{member}": a for name, a in weights.items()}
        report(f"network {member}: loss {loss:.4f}, {time.process_time() - begun:.0f} CPU seconds")
    hidden = [learned.hidden_layer(weights, x) for weights in networks]
    for name in rows.truth:
        value = learned.ensemble_value(
            networks, name, hidden, rows.candidates[name], rows.unit[name], rows.lowest[name]
        )
        error = (value - rows.truth[name]) / rows.unit[name]
        z = learned.width_features(hidden, value / rows.unit[name])
        mask = rows.in_part("widths")
        net[f"below_{name}"] = fit_quantile(z[mask], error[mask], width_decay)
        net[f"above_{name}"] = fit_quantile(z[mask], -error[mask], width_decay)
        mask = rows.in_part("levels")
        below, above = learned.widths(net, name, z[mask])
        score = np.maximum(error[mask] / below, -error[mask] / above)
        places = {axis: x[mask] for axis, x in rows.places.items()}
        factors = conformal_factors(score, places, rows.shape[mask])
        net |= {f"factors_{axis}_{name}": x for axis, x in factors.items()}
        for part in PARTS:
            logs = log_regrets(value, rows, name)[rows.part == part]
            report(f"{name}, {part}: regret {np.exp(logs.mean()):.3f}")
        for axis, x in factors.items():
            report(f"{name}, {axis}: factors at 95 % {x[learned.LEVELS.index(0.95)].round(2)}")
    return net


def per_setting(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the mean over the rows of each setting. `group` is the setting of each row."""
    size = np.bincount(group)
    if x.ndim == 1:
        return np.bincount(group, x) / size
    return np.column_stack([np.bincount(group, c) for c in x.T]) / size[:, None]


def log_regrets(value: np.ndarray, rows: Rows, name: str) -> np.ndarray:
    """Return log(RMSE / RMSE of the best candidate) for each setting, with the floors."""
    floor = per_setting(rows.floors(name), rows.group)
    mse = per_setting((value - rows.truth[name]) ** 2, rows.group)
    errors = (rows.candidates[name] - rows.truth[name][:, None]) ** 2
    least = per_setting(errors, rows.group).min(axis=1)
    return 0.5 * np.log((mse + floor) / (least + floor))


def fit_quantile(z: np.ndarray, target: np.ndarray, decay: float) -> np.ndarray:
    """Fit a quantile regression of `target` (rows,) at level QUANTILE on z (rows, d).

    The prediction is `learned.width(z, b)`. b (d,) minimises the pinball loss of the logarithms
    plus decay |b|^2 / 2, by Adam with all rows. Targets below the smallest width count as that
    width.
    """
    b, moments = np.zeros(z.shape[1]), np.zeros((2, z.shape[1]))
    goal = np.log(np.maximum(target, np.exp(learned.LOG_WIDTHS[0])))
    for step in range(1, WIDTH_STEPS + 1):
        slope = np.where(goal > z @ b, -QUANTILE, 1.0 - QUANTILE)
        slope = z.T @ slope / len(z) + decay * b
        moments[0] = 0.9 * moments[0] + 0.1 * slope
        moments[1] = 0.99 * moments[1] + 0.01 * slope**2
        mean, square = moments[0] / (1 - 0.9**step), moments[1] / (1 - 0.99**step)
        rate = 0.05 * 0.5 * (1.0 + np.cos(np.pi * step / WIDTH_STEPS))
        b = b - rate * mean / (np.sqrt(square) + 1e-8)
    return b


def conformal_factors(
    score: np.ndarray, places: Mapping[str, np.ndarray], shape: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the factors of the widths for each axis of `learned.KNOTS`, arrays (levels, knots).

    The score of a row is the smallest factor with which its interval contains the truth. On the
    first axis, n, a factor is the quantile of the scores of the rows that are nearest to a knot. On
    the other axes, it is the quantile of what the product of the earlier factors leaves of the
    scores, but at least 1. All factors of n are then raised until the rows of shape SMALL are
    covered at the level, and those of SHAPES_COVERED of the other shapes.
    """
    factors = {axis: np.ones((len(learned.LEVELS), len(k))) for axis, k in learned.KNOTS.items()}
    nearest = {axis: learned.nearest_knot(places[axis], axis) for axis in factors}
    for i, level in enumerate(learned.LEVELS):
        relative = score
        for axis, factor in factors.items():
            least = 1.0 if axis != "n" else 0.05
            for j in range(factor.shape[1]):
                factor[i, j] = max(_quantile(relative[nearest[axis] == j], level), least)
            relative = relative / factor[i, nearest[axis]]
        raised = {name: _quantile(relative[shape == name], level) for name in np.unique(shape)}
        small = raised.pop(SMALL, 1.0)
        others = float(np.quantile(list(raised.values()), SHAPES_COVERED, method="lower"))
        factors["n"][i] *= max(1.0, small, others)
    return factors


def _quantile(x: np.ndarray, level: float) -> float:
    """Return a quantile of x; without any x, return 1."""
    return float(np.quantile(x, level, method="higher")) if len(x) else 1.0


def _fit(
    rows: Rows, x: np.ndarray, rng: np.random.Generator, epochs: int
) -> tuple[dict[str, np.ndarray], float]:
    """Fit one network by Adam, and return its arrays and its last loss.

    The arrays are averaged over the last fifth of the epochs.
    """
    w = _initial(x.shape[1], {name: c.shape[1] for name, c in rows.candidates.items()}, rng)
    where = np.argsort(rows.group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows.group))])
    targets = {name: _targets(rows, name) for name in rows.truth}
    settings = np.flatnonzero(rows.part == "weights")
    first, second, average = ({name: np.zeros_like(a) for name, a in w.items()} for _ in range(3))
    averaged = step = 0
    for epoch in range(epochs):
        rate = 3e-3 * 0.5 * (1.0 + np.cos(np.pi * epoch / epochs)) + 3e-5
        order, total = rng.permutation(settings), 0.0
        for i in range(0, len(order), BATCH):
            chosen = order[i : i + BATCH]
            index = np.concatenate([where[starts[s] : starts[s + 1]] for s in chosen])
            rep = np.repeat(np.arange(len(chosen)), starts[chosen + 1] - starts[chosen])
            batch = Batch(x[index], index, rep, rows.weight[chosen])
            loss, slopes = _slopes(w, batch, rows, targets, chosen, rng)
            total += loss * len(chosen)
            step += 1
            for name, slope in slopes.items():
                slope = slope + DECAY * w[name]
                first[name] = 0.9 * first[name] + 0.1 * slope
                second[name] = 0.998 * second[name] + 0.002 * slope * slope
                w[name] = w[name] - rate * (first[name] / (1 - 0.9**step)) / (
                    np.sqrt(second[name] / (1 - 0.998**step)) + 1e-6
                )
        if epoch >= 0.8 * epochs:
            averaged += 1
            for name in w:
                average[name] += w[name]
    return {name: a / averaged for name, a in average.items()}, total / len(settings)


def _initial(
    features: int, candidates: Mapping[str, int], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw the first weights of a network."""
    a, b = HIDDEN
    w = {
        "first": rng.normal(size=(features, a)) / np.sqrt(features), "first_shift": np.zeros(a),
        "second": rng.normal(size=(a, b)) / np.sqrt(a), "second_shift": np.zeros(b),
    }  # fmt: skip
    for name, count in candidates.items():
        w[f"weigh_{name}"] = 0.3 * rng.normal(size=(b, count)) / np.sqrt(b)
        w[f"weigh_{name}_shift"] = np.zeros(count)
        w[f"move_{name}"] = np.zeros((b, 1))
    return w


def _targets(rows: Rows, name: str) -> np.ndarray:
    """Return log(MSE of the best candidate + floor) of each setting."""
    errors = (rows.candidates[name] - rows.truth[name][:, None]) ** 2
    least = per_setting(errors, rows.group).min(axis=1)
    return np.log(least + per_setting(rows.floors(name), rows.group))


@dataclass(frozen=True)
class Batch:
    """Rows of some settings.

    Parameters
    ----------
    x : array (rows, features)
        Standardised features.
    index : array (rows,)
        Positions of the rows in `Rows`.
    rep : array (rows,)
        Position of each row's setting in the batch.
    weight : array (settings,)
        Weight of each setting.
    """

    x: np.ndarray
    index: np.ndarray
    rep: np.ndarray
    weight: np.ndarray


def _slopes(
    w: dict[str, np.ndarray],
    batch: Batch,
    rows: Rows,
    targets: dict[str, np.ndarray],
    chosen: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float, dict[str, np.ndarray]]:
    """Return the mean loss over settings and estimands, and its gradient for each weight array."""
    # noise, so that the network does not rely on the last digits of a feature
    x = batch.x + JITTER * rng.normal(size=batch.x.shape)
    a = np.tanh(x @ w["first"] + w["first_shift"])
    keep = (rng.random((len(x), HIDDEN[1])) < 0.9) / 0.9
    h0 = np.tanh(a @ w["second"] + w["second_shift"])
    h = h0 * keep
    index, rep = batch.index, batch.rep
    count = np.bincount(rep)
    slopes, back, loss = {}, np.zeros_like(h), 0.0
    for name in rows.truth:
        candidates, unit = rows.candidates[name][index], rows.unit[name][index]
        share = learned.softmax_rows(h @ w[f"weigh_{name}"] + w[f"weigh_{name}_shift"])
        mean = (share * candidates).sum(axis=1)
        t = np.tanh(h @ w[f"move_{name}"])[:, 0]
        error = mean + learned.LARGEST_SHIFT * unit * t - rows.truth[name][index]
        floor = np.bincount(rep, rows.floors(name)[index]) / count
        mse = np.bincount(rep, error**2) / count + floor
        log = np.log(mse) - targets[name][chosen]
        loss += (batch.weight * (log + 0.15 * np.maximum(log, 0.0) ** 2)).mean()
        outer = batch.weight * (1.0 + 0.3 * np.maximum(log, 0.0)) / len(count)
        d = (outer / mse / count)[rep] * 2.0 * error
        dz = d[:, None] * share * (candidates - mean[:, None])
        dt = (d * learned.LARGEST_SHIFT * unit * (1.0 - t * t))[:, None]
        slopes[f"weigh_{name}"], slopes[f"weigh_{name}_shift"] = h.T @ dz, dz.sum(axis=0)
        slopes[f"move_{name}"] = h.T @ dt
        back += dz @ w[f"weigh_{name}"].T + dt @ w[f"move_{name}"].T
    back = back * keep * (1.0 - h0 * h0)
    slopes["second"], slopes["second_shift"] = a.T @ back, back.sum(axis=0)
    back = back @ w["second"].T * (1.0 - a * a)
    slopes["first"], slopes["first_shift"] = x.T @ back, back.sum(axis=0)
    return loss / len(targets), {name: g / len(targets) for name, g in slopes.items()}


# Weights with their origin


def load(kind: str, folder: Path, settings: int) -> dict[str, np.ndarray]:
    """Return {name: array} of the first simulated settings of a kind."""
    paths = sorted(folder.glob(f"{kind}_*.npz"))[: settings // CHUNK]
    if len(paths) * CHUNK < settings:
        raise SystemExit(
            f"{folder} has {len(paths) * CHUNK:,} {kind} settings; run simulate first."
        )
    parts = [np.load(path) for path in paths]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}


def division_hash() -> str:
    """Return the sha256 of the arena's families and their division, as conf/ has them."""
    arena = option("experiment", "arena").config["arena"]
    chosen = {name: arena[name] for name in ("development", "families")}
    return sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()


def code_hash(*paths: Path) -> str:
    """Return the sha256 of Python files without their docstrings, comment lines and empty lines."""
    digest = sha256()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        left_out: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                if ast.get_docstring(node) is not None:
                    first = node.body[0]
                    left_out |= set(range(first.lineno, (first.end_lineno or 0) + 1))
        for number, line in enumerate(text.splitlines(), 1):
            if number not in left_out and line.strip() and not line.strip().startswith("#"):
                digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def simulation_hash(kind: str) -> str:
    """Return the hash of the code that a simulation depends on: the prior and the ingredients."""
    estimators = Path(learned.__file__).parent
    names = [
        "certified/denoising_kernels", "ingredient_kernels", "ingredient_members", "ingredients",
        "scalar_ingredients", "segment_ingredients", "stacking",
    ]  # fmt: skip
    if kind == "vector":
        names.append("vector_ingredients")
    return code_hash(Path(best_prior.__file__), *(estimators / f"{name}.py" for name in names))


def data_hash(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the sha256 of the simulated arrays."""
    digest = sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def store(
    out: Path, ensembles: Mapping[str, dict[str, np.ndarray]], about: Mapping[str, Any]
) -> None:
    """Write ensembles, and `about` each of them as JSON, to `out`; its other ensembles stay."""
    stored: dict[str, Any] = {}
    if out.exists():
        with np.load(out) as former:
            stored = {name: former[name] for name in former.files}
    known = json.loads(str(stored["about"])) if stored else {}
    stored["about"] = np.array(json.dumps({**known, **about}, indent=1))
    for kind, net in ensembles.items():
        stored = {name: x for name, x in stored.items() if not name.startswith(f"{kind}/")}
        for name, x in net.items():
            is_weight = name.startswith(("first", "second", "weigh", "move"))
            stored[f"{kind}/{name}"] = x.astype(np.float16 if is_weight else np.float32)
    with whole_file(out) as temporary:
        np.savez_compressed(temporary, **stored)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder of the simulations")
    parser.add_argument(
        "out", type=Path, help="file of the weights; kinds that are not trained stay"
    )
    parser.add_argument("--kinds", nargs="+", choices=best_prior.KINDS, default=best_prior.KINDS)
    for kind, settings in SETTINGS.items():
        parser.add_argument(f"--{kind}", type=int, default=settings, help="settings")
    parser.add_argument("--prior", choices=PRIORS, default="stated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="worker processes of the simulation")
    arguments = parser.parse_args()
    commit = run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    ensembles, about = {}, {}
    for kind in arguments.kinds:
        settings = getattr(arguments, kind)
        code = simulation_hash(kind)
        folder = arguments.folder / f"{kind}_{code[:12]}"
        simulate(kind, folder, settings, arguments.jobs)
        arrays = load(kind, folder, settings)
        prior = PRIORS[arguments.prior][kind]
        rows = Rows.of(arrays, prior, arguments.seed)
        ensembles[kind] = train(rows, WIDTH_DECAY[kind], seed=arguments.seed)
        about[kind] = {
            "code_sha256": code_hash(Path(__file__)), "simulation_code_sha256": code,
            "division_sha256": division_hash(), "commit": commit, "seed": arguments.seed,
            "prior": asdict(prior), "smoothing": SMOOTHING, "settings": settings,
            "simulations_sha256": data_hash(arrays),
        }  # fmt: skip
    store(arguments.out, ensembles, about)


if __name__ == "__main__":
    main()
