"""The network of `Best`, which weights candidate estimates by features of the sample.

It is an ensemble of small networks, one ensemble for scalars and one for vectors.
tools/train_best.py trains them, and best_weights.npz stores their arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from harness.estimators.ingredient_members import Ingredients

WEIGHTS = "best_weights.npz"
LARGEST_SHIFT = 1.0  # largest correction of the weighted mean, in units of noise
# Units of noise below the held-out gain of the stack that bound the value. A margin of 0 raised the
# RMSE of L1 by 50 % at n = 50 and by 12 % at n = 200, because the gain is noisy.
MARGIN = 1.645
LOG_WIDTHS = -3.0, 5.0  # limits of the log width of a side of an interval, in units of noise
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)  # levels with a calibrated factor of the widths
# Sample sizes, numbers of events and numbers of classes with a calibrated factor of the widths.
KNOTS = {"n": (70, 200, 600, 2_000, 8_000), "events": (1, 5, 20, 100), "classes": (2, 4, 10, 40)}
# The simulated vectors have at most SIMULATED_ROWS[1] rows. Above SIMULATED_ROWS[0] rows, they have
# at most SIMULATED_ENTRIES entries.
SIMULATED_ROWS, SIMULATED_ENTRIES = (1_500, 20_000), 60_000

Arrays: TypeAlias = dict[str, np.ndarray]


@lru_cache(maxsize=4)
def load_ensemble(kind: str) -> Arrays:
    """Return {name: array} of the stored ensemble of a kind, "scalar" or "vector"."""
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
def ensemble_networks(kind: str) -> list[Arrays]:
    """Return {name: array} of each network in the ensemble of a kind, "scalar" or "vector"."""
    return split_networks(load_ensemble(kind))


def split_networks(net: Arrays) -> list[Arrays]:
    """Return {name: array} of each network in an ensemble. Names end in the network's number."""
    count = sum(name.startswith("first.") for name in net)
    return [
        {name.rpartition(".")[0]: x for name, x in net.items() if name.endswith(f".{m}")}
        for m in range(count)
    ]


def evaluate(
    kind: str, ingredients: Ingredients, n: int, level: float
) -> dict[str, tuple[float, float, float]]:
    """Return the estimates of the ensemble of networks for scalar or vector predictions.

    Parameters
    ----------
    kind : {"scalar", "vector"}
        The kind of the predictions.
    ingredients : Ingredients
        Candidate estimates, units of noise and features of the sample.
    n : int
        Number of samples.
    level : float
        Level of the intervals.

    Returns
    -------
    dict
        {estimand: (value, below, above)}. The interval is [value - below, value + above]. The
        lower end may be negative here. `Best` mixes the value with other estimates at large n, and
        clips the lower end at 0 after that.
    """
    net, networks = load_ensemble(kind), ensemble_networks(kind)
    place = {"n": n, "events": ingredients.events, "classes": ingredients.classes}
    x = ((ingredients.features - net["centre"]) / net["spread"])[None]
    hidden = [hidden_layer(network, x) for network in networks]
    answers = {}
    for name, candidates in ingredients.candidates.items():
        unit, lowest = (np.array([x[name]]) for x in (ingredients.units, ingredients.lowest))
        value = ensemble_value(networks, name, hidden, candidates[None], unit, lowest)
        factor = np.prod([
            level_factor(net[f"factors_{axis}_{name}"], axis, x, level)
            for axis, x in place.items()
        ])  # fmt: skip
        if kind == "vector":
            factor *= outside_factor(n, ingredients.classes)
        z = width_features(hidden, value / unit)
        below, above = (float(side[0] * factor * unit[0]) for side in widths(net, name, z))
        answers[name] = float(value[0]), below, above
    return answers


def outside_factor(n: int, classes: int) -> float:
    """Return the factor of the widths of vectors with more rows than any simulated ones, else 1.

    There an interval stays as wide as that of the largest simulated sample, because the widths are
    in units of noise, which fall as 1 / sqrt(n). Scalars have no factor: with one, intervals at
    40,000 and 100,000 rows would be wider than needed (harness/judging/coverage.csv).

    Examples
    --------
    >>> outside_factor(5_000, 10), outside_factor(24_000, 10), outside_factor(6_000, 100)
    (1.0, 2.0, 2.0)
    """
    few, many = SIMULATED_ROWS
    largest = min(max(SIMULATED_ENTRIES / classes, few), many)
    return float(np.sqrt(max(n / largest, 1.0)))


def standardisation(features: np.ndarray) -> Arrays:
    """Return the centre and the spread of features (samples, features)."""
    return {"centre": features.mean(axis=0), "spread": features.std(axis=0) + 1e-3}


def hidden_layer(w: Arrays, x: np.ndarray) -> np.ndarray:
    """Return the activations of the last hidden layer of a network, (samples, hidden units).

    `w` are the arrays of the network, and x (samples, features) its standardised features.
    """
    return np.tanh(np.tanh(x @ w["first"] + w["first_shift"]) @ w["second"] + w["second_shift"])


def softmax_rows(z: np.ndarray) -> np.ndarray:
    """Return the softmax of the rows of z (samples, candidates)."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def weighted_mean(
    w: Arrays, name: str, h: np.ndarray, candidates: np.ndarray, unit: np.ndarray
) -> np.ndarray:
    """Return the weighted mean of the candidates plus the correction, (samples,), by one network.

    Parameters
    ----------
    w : dict of str to ndarray
        Arrays of the network.
    name : str
        The estimand.
    h : array (samples, hidden units)
        Activations of the last hidden layer.
    candidates : array (samples, candidates)
        Candidate estimates.
    unit : array (samples,)
        Unit of noise, in which the correction is measured.
    """
    share = softmax_rows(h @ w[f"weigh_{name}"] + w[f"weigh_{name}_shift"])
    shift = LARGEST_SHIFT * np.tanh(h @ w[f"move_{name}"])
    return (share * candidates).sum(axis=1) + unit * shift[:, 0]


def ensemble_value(
    networks: Sequence[Arrays],
    name: str,
    hidden: Sequence[np.ndarray],
    candidates: np.ndarray,
    unit: np.ndarray,
    lowest: np.ndarray,
) -> np.ndarray:
    """Return the mean over the networks, but at least a lower confidence limit and 0, (samples,).

    The limit is `lowest` (samples,), a lower bound in expectation, minus MARGIN units of noise. The
    other arguments are those of `weighted_mean`, with one entry per network in `networks` and
    `hidden`.
    """
    values = [weighted_mean(w, name, h, candidates, unit) for w, h in zip(networks, hidden)]
    return np.maximum(np.mean(values, axis=0), np.maximum(lowest - MARGIN * unit, 0.0))


# Intervals


def width_features(hidden: Sequence[np.ndarray], value: np.ndarray) -> np.ndarray:
    """Return the features of the widths, (samples, d).

    They are 1, the logarithm of the value, and the last hidden layers of all networks. `value`
    (samples,) is in units of noise.
    """
    return np.column_stack([np.ones(len(value)), np.log(0.1 + value), *hidden])


def width(z: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return exp(z b), within the limits of LOG_WIDTHS. z is (samples, d) and b (d,)."""
    side: np.ndarray = np.exp(np.clip(z @ b, *LOG_WIDTHS))
    return side


def widths(net: Arrays, name: str, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the widths below and above the value, each (samples,), in units of noise.

    They are quantile regressions at 97.5 % of the error on both sides. `z` are the features of
    `width_features`.
    """
    return width(z, net[f"below_{name}"]), width(z, net[f"above_{name}"])


def nearest_knot(x: np.ndarray, axis: str) -> np.ndarray:
    """Return the position of the nearest of the KNOTS of an axis, on the log scale, (rows,)."""
    distance = np.abs(np.log(np.maximum(x, 1.0))[:, None] - np.log(KNOTS[axis]))
    position: np.ndarray = distance.argmin(axis=1)
    return position


def level_factor(factors: np.ndarray, axis: str, x: float, level: float) -> float:
    """Return the factor of the widths at a place x of an axis of KNOTS, and at a level.

    `factors` (levels, knots) are calibrated at LEVELS and KNOTS. Between them, the factor is linear
    in log x and in the normal quantile of the level. Beyond the levels, the factor of n is
    proportional to that quantile, and the others are constant.
    """
    at_x = [np.interp(np.log(max(x, 1.0)), np.log(KNOTS[axis]), row) for row in factors]
    quantiles = ndtri((1.0 + np.array(LEVELS)) / 2.0)
    quantile = ndtri((1.0 + level) / 2.0)
    inside = np.clip(quantile, quantiles[0], quantiles[-1])
    beyond = quantile / inside if axis == "n" else 1.0
    return float(np.interp(inside, quantiles, at_x) * beyond)
