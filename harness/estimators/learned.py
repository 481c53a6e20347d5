"""The network of `Best`, which weights candidate estimates by features of the sample.

It is an ensemble of small networks, one ensemble for scalars and one for vectors.
benchmarks/train_best.py trains them, and best_weights.npz stores their arrays.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np

from harness.estimators.ingredient_members import Ingredients

WEIGHTS = "best_weights.npz"
LARGEST_SHIFT = 1.0  # largest correction of the weighted mean, in units of noise
SMALLEST_SCALE = 0.1  # smallest predicted size of the error, in units of noise


@lru_cache(maxsize=4)
def load_ensemble(kind: str) -> dict[str, np.ndarray]:
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
def ensemble_networks(kind: str) -> list[dict[str, np.ndarray]]:
    """Return {name: array} of each network in the ensemble of a kind, "scalar" or "vector"."""
    net = load_ensemble(kind)
    count = sum(name.startswith("first.") for name in net)
    return [
        {name.rpartition(".")[0]: x for name, x in net.items() if name.endswith(f".{m}")}
        for m in range(count)
    ]


def evaluate(kind: str, ingredients: Ingredients) -> dict[str, tuple[float, float, float]]:
    """Return the estimates of the ensemble of networks for scalar or vector predictions.

    Parameters
    ----------
    kind : {"scalar", "vector"}
        The kind of the predictions.
    ingredients : Ingredients
        Candidate estimates, units of noise and features of the sample.

    Returns
    -------
    dict
        {estimand: (value, below, above)}. The 95 % interval is [value - below, value + above]. The
        lower end may be negative here. `Best` mixes the value with other estimates at large n, and
        clips the lower end at 0 after that.
    """
    net, parts = load_ensemble(kind), ensemble_networks(kind)
    x = ((ingredients.features - net["centre"]) / net["spread"])[None]
    hidden = [hidden_layer(part, x) for part in parts]
    answers = {}
    for name, candidates in ingredients.candidates.items():
        values, scales, unit = [], [], ingredients.units[name]
        for m, (part, h) in enumerate(zip(parts, hidden)):
            values.append(weighted_mean(part, name, h, candidates[None], np.array([unit]))[0])
            scales.append(error_scale(net, m, name, h)[0])
        value = max(float(np.mean(values)), 0.0)
        scale = float(np.mean(scales)) * unit
        below, above = net[f"conformal_{name}"]
        answers[name] = (value, float(below * scale), float(above * scale))
    return answers


def hidden_layer(w: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """Return the activations of the last hidden layer of a network, (samples, hidden units).

    `w` are the arrays of the network, and x (samples, features) its standardised features.
    """
    return np.tanh(np.tanh(x @ w["first"] + w["first_shift"]) @ w["second"] + w["second_shift"])


def weighted_mean(
    w: dict[str, np.ndarray], name: str, h: np.ndarray, candidates: np.ndarray, unit: np.ndarray
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
    z = h @ w[f"weigh_{name}"] + w[f"weigh_{name}_shift"]
    e = np.exp(z - z.max(axis=1, keepdims=True))
    share = e / e.sum(axis=1, keepdims=True)
    shift = LARGEST_SHIFT * np.tanh(h @ w[f"move_{name}"])
    return (share * candidates).sum(axis=1) + unit * shift[:, 0]


def error_scale(net: dict[str, np.ndarray], m: int, name: str, h: np.ndarray) -> np.ndarray:
    """Return the size of the error that network `m` predicts, in units of noise, (samples,).

    `net` are the arrays of the ensemble, `name` is the estimand, and `h` (samples, hidden units)
    are the activations of the last hidden layer.
    """
    z = np.column_stack([np.ones(len(h)), h]) @ net[f"scale_{name}.{m}"]
    return SMALLEST_SCALE + np.exp(np.clip(z, -4.0, 6.0))
