"""Train small binary classifiers with and without the sech perturbation in the loss (ciosek2026).

The paper asks for training that takes the perturbation into account, but does not specify how. This
script draws one u ~ U(0, 1) per example and step. It then uses the log-loss L of the perturbed
score s = s(u; s0) (harness.math.sech_noise) instead of the log-loss of s0 = sigmoid(z):

    dL/dz = L'(s) ds/ds0 s0 (1 - s0)
    L'(s) = (s - y) / (s (1 - s))  for 1e-6 <= s <= 1 - 1e-6, else 0

Here z is the logit, y the label, and ds/ds0 is taken at fixed u. Each network is trained once
plainly and once per width h = 2^-2 .. 2^-8, with the same first weights and order of batches. The
optimiser is stochastic gradient descent with momentum and weight decay, seeded, in float64 on one
thread.

    tables   breast_cancer and digits_odd (odd against even digits) of scikit-learn; adult and
             spambase if CALHARNESS_DATA/uci_csv has them
    rows     in one fixed random order, 60 % for training and 40 % for testing; columns are
             standardised by the training rows
    models   logistic: linear in the columns; mlp: one hidden layer of 64 ReLU units;
             five seeds of each

A file <table>_<model>_seed<s>.npz holds `labels` (n,) of the test rows and one array (n,) of
unperturbed test scores per training: `plain`, `aware_h2^-6` and so on.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_digits

from harness.common.seeds import digest
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.math.notions import one_hot
from harness.math.sech_noise import WIDTHS, path_derivative, perturbed, width_name

from . import training
from .tables import gather
from .training import Weights, activations, backward, first_weights

RECIPE = 1  # raise this number when training or files change; older files are then computed again
FOLDER = "perturbed_networks"
TABLES = ("breast_cancer", "digits_odd", "adult", "spambase")
CSV = ("adult", "spambase")
MODELS = {"logistic": (), "mlp": (64,)}
SEEDS = range(5)
ROWS_TAKEN = 5000
CLIP = 1e-6


class Rows(NamedTuple):
    """Training and test rows of a table: x (n, columns) standardised, y (n,) in {0, 1}."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


@dataclass(frozen=True)
class Training:
    """Settings of a network to train. `hidden` are the layer widths, () for a linear model."""

    table: str
    model: str
    seed: int
    hidden: tuple[int, ...]
    epochs: int = 40
    rate: float = 0.02
    momentum: float = 0.9
    decay: float = 3e-3
    batch: int = 32

    @property
    def file(self) -> str:
        return f"{self.table}_{self.model}_seed{self.seed}.npz"


def trainings(names: list[str]) -> list[Training]:
    """Return the settings of all networks for these tables, one per table, model and seed."""
    return [
        Training(t, model, seed, hidden)
        for t in names
        for model, hidden in MODELS.items()
        for seed in SEEDS
    ]


def make(wanted: list[Training], out: Path, jobs: int = 1) -> int:
    """Train and store the networks that `out` lacks. Return 1 if a network failed, else 0.

    After an interruption, only unfinished networks are trained again.
    """
    tables = {name: load_rows(name) for name in dict.fromkeys(network.table for network in wanted)}
    todo = []
    for network in wanted:
        origin = _origin_digest(network, tables[network.table])
        if not training.is_made(out / network.file, origin):
            todo.append(network)
    store = partial(_store, tables=tables, out=out)
    return training.make_all(wanted, todo, out, store, "{0.file}: {1}".format, jobs)


def load_rows(name: str) -> Rows:
    """Return at most 5,000 rows of a table in a fixed random order, split and standardised."""
    if name in CSV:
        if not is_at_hand(name):
            raise BadInputError(
                f"{name} needs the file uci_csv/{name}.csv; put it into the folder CALHARNESS_DATA."
            )
        x, y = gather([_csv(name).parent], [], ROWS_TAKEN, [name])[0][1:]
    else:
        x, y = (load_breast_cancer if name == "breast_cancer" else load_digits)(return_X_y=True)
        y = y % 2
    order = np.random.default_rng(0).permutation(len(y))[:ROWS_TAKEN]
    x, y = x[order].astype(np.float64), y[order].astype(np.int64)
    cut = round(0.6 * len(y))
    mean, sd = x[:cut].mean(axis=0), x[:cut].std(axis=0)
    x = (x - mean) / np.where(sd > 0, sd, 1.0)
    return Rows(x[:cut], y[:cut], x[cut:], y[cut:])


def train(network: Training, x: np.ndarray, y: np.ndarray, h: float | None = None) -> Weights:
    """Return the weights [(W (inputs, outputs), b (outputs,))] after the last epoch.

    `h` is the width of the perturbation. With `h=None`, training uses no perturbation.
    """
    rng, noise = (np.random.default_rng([RECIPE, network.seed, stream]) for stream in (0, 1))
    weights = first_weights((x.shape[1], *network.hidden, 1), rng)
    velocity = [(np.zeros_like(w), np.zeros_like(b)) for w, b in weights]
    for _ in range(network.epochs):
        order = rng.permutation(len(y))
        for start in range(0, len(y), network.batch):
            rows = order[start : start + network.batch]
            # also drawn if h is None, so that trainings differ only in the loss
            u = noise.random(len(rows))
            inputs = [x[rows], *activations(x[rows], weights)]
            outside = slope(inputs.pop()[:, 0], y[rows], u, h)[:, None] / len(rows)
            for (w, b), (dw, db), (vw, vb) in zip(
                weights, backward(inputs, outside, weights), velocity
            ):
                vw *= network.momentum
                vw += dw + network.decay * w
                vb *= network.momentum
                vb += db
                w -= network.rate * vw
                b -= network.rate * vb
    return weights


def loss(z: np.ndarray, y: np.ndarray, u: np.ndarray, h: float | None = None) -> np.ndarray:
    """Return the log-loss (n,) of the score s0 = sigmoid(z).

    With a width h, return the log-loss of the perturbed score s(u; s0), clipped to [1e-6, 1 -
    1e-6].
    """
    if h is None:
        return np.logaddexp(0.0, z) - y * z
    s = np.clip(perturbed(expit(z), u, h), CLIP, 1.0 - CLIP)
    return -np.where(y == 1, np.log(s), np.log1p(-s))


def slope(z: np.ndarray, y: np.ndarray, u: np.ndarray, h: float | None = None) -> np.ndarray:
    """Return the derivative (n,) of `loss` with respect to z."""
    s0 = expit(z)
    if h is None:
        return s0 - y
    return score_slope(s0, y, u, h) * s0 * (1.0 - s0)


def score_slope(s0: np.ndarray, y: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Return the derivative of the perturbed log-loss with respect to the scores s0, any shape."""
    s = perturbed(s0, u, h)
    inside = np.clip(s, CLIP, 1.0 - CLIP)
    loss_slope = np.where(s == inside, (inside - y) / (inside * (1.0 - inside)), 0.0)
    return loss_slope * path_derivative(s, s0, u, h)


def class_slopes(z: np.ndarray, y: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Return the derivatives (n, k) of the loss of each row with respect to its logits z (n, k).

    The loss is the sum over the classes of the log-loss of the perturbed probability of the class,
    against the event that the class is right. `y` (n,) are the labels, and `u` (n, k) the
    probabilities that draw the perturbation of width `h`.
    """
    p = softmax(z.astype(np.float64), axis=1)
    by_class = p * score_slope(p, one_hot(y, p.shape[1]), u, h)
    return by_class - p * by_class.sum(axis=1, keepdims=True)


def _store(network: Training, tables: dict[str, Rows], out: Path) -> str:
    rows = tables[network.table]
    scores = {}
    for name, h in {"plain": None, **{f"aware_{width_name(h)}": h for h in WIDTHS}}.items():
        weights = train(network, rows.x, rows.y, h)
        scores[name] = expit(activations(rows.test_x, weights)[-1][:, 0])
    origin = np.array(_origin_digest(network, rows))
    with whole_file(out / network.file) as temporary:
        np.savez(temporary, **scores, labels=rows.test_y, made=origin)
    return "stored"


def _origin_digest(network: Training, rows: Rows) -> str:
    """Return a digest of everything that determines a network's file."""
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in rows)
    checksum = hashlib.sha256(content).hexdigest()
    return digest(f"{RECIPE}|{astuple(network)}|{WIDTHS}|{checksum}")


def _csv(name: str) -> Path:
    return Path(os.environ.get("CALHARNESS_DATA") or ".").expanduser() / "uci_csv" / f"{name}.csv"


def is_at_hand(name: str) -> bool:
    """Return True if a table is available: it comes with scikit-learn, or its CSV file exists."""
    return name not in CSV or bool(os.environ.get("CALHARNESS_DATA")) and _csv(name).is_file()
