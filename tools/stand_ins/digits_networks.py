"""Small networks trained here on scikit-learn's bundled digits, with what they predict in the course of training.

Stand-ins for the trained networks of popordanoska2024 and moskvichev2025, whose files are not at hand: fully connected ReLU
networks, plain stochastic gradient descent on the cross-entropy, in float64 on one thread, seeded. Pixels are divided by their
largest value. The digits are put in one fixed random order: the first rows train, the next validate, the rest test; a seed
changes the network's first weights and the order of its batches only.

    layers        a d-9-9-9-9-10 network (Figure 3): after chosen epochs the test images' activations of every hidden layer, one
                  zero column appended, and the output, each as `logits` of ten columns with the images' labels
    layers_mnist  the same on MNIST with the paper's rate, batch and epochs, where CALHARNESS_DATA holds mnist.npz
    training      odd against even digits, trained far beyond the least validation loss (Figure 6): train_, val_
    snapshots     ten digits, every tenth epoch of four seeds (Figure 7): val_, test_
    networks      six architectures, five seeds, trained to over-confidence (Tables 2 and 5, Figure 8): val_, test_
    brightness    two architectures, five seeds; what they predict of 1,000 images made darker and brighter (moskvichev2025,
                  Figure 4b), one file per step of brightness: `logits` and `labels`

A file is an npz with the arrays <part>_logits (n, k) float32 and <part>_labels (n,) int64 (layers, brightness: without a
part). Softmax of ten columns of which one is zero has an inverse, so the layers' predictions carry what the activations carry.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits

from harness.common.seeds import digest
from harness.common.writing import whole_file
from harness.errors import BadInputError

from . import training
from .imagenet_brightness import LEVELS, brightened, level_name
from .training import activations, backward, first_weights

RECIPE = 1  # raised when training or what is stored changes: files of another recipe are made again
KINDS = ("layers", "layers_mnist", "training", "snapshots", "networks", "brightness")
FOLDER = "digits_networks"
MNIST = "mnist.npz"
MNIST_EPOCHS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)


class Images(NamedTuple):
    """x (n, pixels) in [0, 1], y (n,) labels 0..k-1."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Training:
    """One network to train: hidden widths, rows of the parts (the test part takes the rest), and after which epochs to store."""

    kind: str
    name: str
    seed: int
    hidden: tuple[int, ...]
    rate: float
    epochs: tuple[int, ...]
    train: int
    validation: int = 0
    momentum: float = 0.0
    batch: int = 64

    @property
    def work(self) -> float:
        """Roughly proportional to the seconds it takes, for the time left."""
        return (
            self.epochs[-1]
            * (self.train / self.batch)
            * (len(self.hidden) + 1 + self.train / 10_000)
        )

    def files(self) -> list[str]:
        """Names of its files, in the order in which they are written."""
        stem = f"{self.name}_seed{self.seed}"
        if self.kind == "brightness":
            return [f"{stem}_{level_name(percent)}.npz" for percent in LEVELS]
        if not self.kind.startswith("layers"):
            return (
                [f"{stem}.npz"]
                if len(self.epochs) == 1
                else [f"{stem}_epoch{e:04d}.npz" for e in self.epochs]
            )
        layers = [*(f"layer{j + 1}" for j in range(len(self.hidden))), "output"]
        return [f"{stem}_epoch{e:04d}_{layer}.npz" for e in self.epochs for layer in layers]


def trainings(kind: str) -> list[Training]:
    """The networks of a kind."""
    if kind == "layers":
        epochs = tuple(
            67 * e for e in MNIST_EPOCHS
        )  # 14 batches an epoch to MNIST's 938: as many steps at the same rate
        return [
            Training(kind, "mlp9x4", seed, (9, 9, 9, 9), 0.01, epochs, train=896)
            for seed in range(5)
        ]
    if kind == "layers_mnist":
        return [
            Training(kind, "mlp9x4", seed, (9, 9, 9, 9), 0.01, MNIST_EPOCHS, train=60_000)
            for seed in range(5)
        ]
    if kind == "training":
        epochs = (1, 2, 5, 10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000)
        return [
            Training(kind, "mlp64", seed, (64,), 0.05, epochs, 200, 1597, batch=32)
            for seed in range(5)
        ]
    if kind == "snapshots":
        epochs = tuple(range(10, 241, 10))
        return [
            Training(kind, "mlp16", seed, (16,), 0.05, epochs, 150, 800, momentum=0.9, batch=32)
            for seed in range(4)
        ]
    if kind == "networks":
        shapes = {
            "mlp16": (16,),
            "mlp32": (32,),
            "mlp64": (64,),
            "mlp256": (256,),
            "mlp64x2": (64, 64),
            "mlp256x2": (256, 256),
        }
        seeds = (5, 10, 21, 42, 84)  # the paper's, of as many architectures
        how = {"momentum": 0.9, "batch": 32}
        return [
            Training(kind, name, seed, h, 0.1, (100,), 100, 500, **how)
            for name, h in shapes.items()
            for seed in seeds
        ]
    if kind == "brightness":
        shapes = {
            "mlp16": ((16,), 60),
            "mlp256": ((256,), 20),
        }  # as the last figure's networks, the wider one stopped earlier
        how = {"momentum": 0.9, "batch": 32}
        return [
            Training(kind, name, seed, hidden, 0.1, (epochs,), 797, 0, **how)
            for name, (hidden, epochs) in shapes.items()
            for seed in range(5)
        ]
    raise BadInputError(f"kind is {kind!r}; allowed are {', '.join(KINDS)}.")


def make(wanted: list[Training], out: Path, jobs: int = 1, mnist: Path | None = None) -> int:
    """Train and store what `out` lacks; returns 1 if a network failed, else 0. An interruption costs unfinished networks only."""
    _remove_others(wanted, out)
    contents = {kind: _content(images(kind, mnist)) for kind in {one.kind for one in wanted}}
    todo = [one for one in wanted if not _is_stored(one, contents[one.kind], out)]
    return training.make_all(
        wanted, todo, out, partial(_store, contents=contents, out=out, mnist=mnist),
        lambda one, what: f"{one.kind}, {one.name}, seed {one.seed}: {what}", jobs, lambda one: one.work,
    )  # fmt: skip


def images(kind: str, mnist: Path | None = None) -> Images:
    """The images of a kind, in the order in which its parts are cut."""
    if kind == "layers_mnist":
        return _mnist(mnist)
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    y = y[order].astype(np.int64)
    return Images(x[order] / 16.0, y % 2 if kind == "training" else y)


def mnist_file() -> Path | None:
    """CALHARNESS_DATA/mnist.npz (arrays x_train, y_train, x_test, y_test), None where it is not there."""
    data = os.environ.get("CALHARNESS_DATA")
    path = Path(data).expanduser() / MNIST if data else None
    return path if path is not None and path.is_file() else None


def train(one: Training, x, y, classes: int):
    """Yield (epoch, weights) after each stored epoch; 0 is before training. weights: [(W (inputs, outputs), b (outputs,))], which
    training goes on to change.

    First weights and offsets uniform in +-1 / sqrt(inputs). Velocity v <- momentum v + gradient, weights <- weights - rate v, the
    gradient that of the mean cross-entropy of a batch; the last batch of an epoch may be smaller.
    """
    rng = np.random.default_rng([RECIPE, one.seed])
    weights = first_weights((x.shape[1], *one.hidden, classes), rng)
    velocity = [(np.zeros_like(w), np.zeros_like(b)) for w, b in weights]
    for epoch in range(one.epochs[-1] + 1):
        if epoch in one.epochs:
            yield epoch, weights
        if epoch == one.epochs[-1]:
            return
        order = rng.permutation(len(y))
        for start in range(0, len(y), one.batch):
            rows = order[start : start + one.batch]
            _step(x[rows], y[rows], weights, velocity, one.rate, one.momentum)


def gradients(x, y, weights) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of the mean cross-entropy with respect to all weights and offsets."""
    inputs = [x, *activations(x, weights)]
    outside = softmax(inputs.pop(), axis=1)
    outside[np.arange(len(y)), y] -= 1.0
    return backward(inputs, outside / len(y), weights)


def _step(x, y, weights, velocity, rate, momentum):
    for parameters, speeds, slopes in zip(weights, velocity, gradients(x, y, weights)):
        for parameter, speed, slope in zip(parameters, speeds, slopes):
            speed *= momentum
            speed += slope
            parameter -= rate * speed


def _store(one, contents, out, mnist):
    """Write a network's files as training reaches their epochs; the last is there when all are."""
    data = images(one.kind, mnist)
    cuts = [one.train, one.train + one.validation]
    x, y = np.split(data.x, cuts), np.split(data.y, cuts)
    names = iter(one.files())
    for _, weights in train(one, x[0], y[0], int(data.y.max()) + 1):
        for arrays in _stored_arrays(one.kind, x, y, weights):
            with whole_file(out / one.kind / next(names)) as temporary:
                np.savez(temporary, **arrays, made=np.array(_made(one, contents[one.kind])))
    return f"{len(one.files())} files"


def _stored_arrays(kind, x, y, weights):
    """The arrays of each file of one epoch."""
    if kind.startswith("layers"):
        hidden = activations(x[2], weights)
        padded = [np.column_stack([h, np.zeros(len(h))]) for h in hidden[:-1]]
        return [{"logits": z.astype(np.float32), "labels": y[2]} for z in (*padded, hidden[-1])]
    if kind == "brightness":
        outputs = [activations(brightened(x[2], percent), weights)[-1] for percent in LEVELS]
        return [{"logits": z.astype(np.float32), "labels": y[2]} for z in outputs]
    parts = {"training": {"train": 0, "val": 1}}.get(kind, {"val": 1, "test": 2})
    arrays = {}
    for part, i in parts.items():
        arrays[f"{part}_logits"], arrays[f"{part}_labels"] = (
            activations(x[i], weights)[-1].astype(np.float32),
            y[i],
        )
    return [arrays]


def _content(data):
    """Identifies the images."""
    return hashlib.sha256(np.ascontiguousarray(data.x).tobytes() + data.y.tobytes()).hexdigest()


def _made(one, content):
    """Identifies what a network's files come from."""
    return digest(f"{RECIPE}|{astuple(one)}|{content}")


def _is_stored(one, content, out):
    """Whether all its files are there, the last of them of this very recipe."""
    paths = [out / one.kind / name for name in one.files()]
    return all(path.is_file() for path in paths) and training.is_made(
        paths[-1], _made(one, content)
    )


def _remove_others(wanted, out):
    """Remove what an earlier recipe made under names that are no longer used: a family takes every file of its folder."""
    for kind in {one.kind for one in wanted}:
        used = {
            name for one in (*wanted, *trainings(kind)) if one.kind == kind for name in one.files()
        }
        for path in (out / kind).glob("*.npz"):
            if path.name not in used:
                with np.load(path, allow_pickle=False) as held:
                    ours = "made" in held.files
                if ours:
                    path.unlink()


def _mnist(path):
    if path is None:
        raise BadInputError(
            f"{MNIST} is not below CALHARNESS_DATA; the kind layers_mnist needs it."
        )
    names = ("x_train", "y_train", "x_test", "y_test")
    with np.load(path, allow_pickle=False) as held:
        absent = [name for name in names if name not in held.files]
        if absent:
            raise BadInputError(
                f"{path} has no array {', '.join(absent)}; {', '.join(names)} are needed."
            )
        train_x, train_y, test_x, test_y = (held[name] for name in names)
    x = np.concatenate([train_x.reshape(len(train_x), -1), test_x.reshape(len(test_x), -1)]) / 255.0
    return Images(x, np.concatenate([train_y, test_y]).astype(np.int64))
