"""Train small networks on scikit-learn's digits, and store their predictions during training.

The networks stand in for those of popordanoska2024 and moskvichev2025, whose files are not
available. They are fully connected ReLU networks, trained in float64 on one thread by plain
stochastic gradient descent on the cross-entropy. Pixels are divided by their largest value. The
digits have one fixed random order: the first rows are for training, the next for validation, and
the rest for testing. A seed changes only the first weights and the order of the batches.

The kinds of networks are:

    layers        a network with four hidden layers of 9 units and 10 outputs (Figure 3) after some
                  epochs. A file holds `logits` of ten columns for the test images. These are the
                  output, or the activations of one hidden layer and a column of zeros.
    layers_mnist  the same on MNIST, with the learning rate, batch size and epochs of
                  popordanoska2024. This kind needs images/mnist.npz or mnist.npz below
                  CALHARNESS_DATA.
    training      odd against even digits, trained far beyond the smallest validation loss
                  (Figure 6): parts train, val
    snapshots     ten digits, every tenth epoch of four seeds (Figure 7): parts val, test
    pareto        the networks of `snapshots` with sixteen other seeds
    networks      six architectures and five seeds, trained until they are overconfident
                  (Tables 2 and 5, Figure 8): parts val, test
    brightness    two architectures and five seeds. The predictions are for 1,000 images made darker
                  and brighter (moskvichev2025, Figure 4b), one file per level.

A file is an npz with the arrays <part>_logits (n, k) float32 and <part>_labels (n,) int64. The
kinds layers and brightness have one part, so that their arrays are `logits` and `labels`. A layer's
predictions keep all information of its activations, because the softmax of ten columns is
invertible if one column is zero.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
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
from .training import Weights, activations, backward, first_weights

RECIPE = 1  # raise this number when training or files change; older files are then computed again
KINDS = ("layers", "layers_mnist", "training", "snapshots", "pareto", "networks", "brightness")
FOLDER = "digits_networks"
MNIST = "images/mnist.npz"
MNIST_PATHS = (MNIST, "mnist.npz")
MNIST_EPOCHS = tuple(range(31))
# stored epochs of the kind `layers`, in epochs of MNIST
LAYER_EPOCHS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)


class Images(NamedTuple):
    """Images `x` (n, pixels) in [0, 1] and labels `y` (n,) in 0..k-1, for k classes."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Training:
    """Settings of a network to train.

    hidden              widths of the hidden layers
    train, validation   numbers of rows of these parts; the remaining rows are the test part
    epochs              epochs after which predictions are stored
    """

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
        """Return a number roughly proportional to the training time of the network."""
        return (
            self.epochs[-1]
            * (self.train / self.batch)
            * (len(self.hidden) + 1 + self.train / 10_000)
        )

    def files(self) -> list[str]:
        """Return the names of the network's files, in the order in which they are written."""
        stem = f"{self.name}_seed{self.seed}"
        if self.kind == "brightness":
            return [f"{stem}_{level_name(percent)}.npz" for percent in LEVELS]
        if not self.kind.startswith("layers"):
            if len(self.epochs) == 1:
                return [f"{stem}.npz"]
            return [f"{stem}_epoch{e:04d}.npz" for e in self.epochs]
        layers = [*(f"layer{j + 1}" for j in range(len(self.hidden))), "output"]
        return [f"{stem}_epoch{e:04d}_{layer}.npz" for e in self.epochs for layer in layers]


def trainings(kind: str) -> list[Training]:
    """Return the settings of all networks of a kind."""
    if kind == "layers":
        # an epoch has 14 batches here and 938 on MNIST; times 67, the numbers of steps are equal
        epochs = tuple(67 * e for e in LAYER_EPOCHS)
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
    if kind in ("snapshots", "pareto"):
        epochs = tuple(range(10, 241, 10))
        seeds = range(4) if kind == "snapshots" else range(4, 20)
        return [
            Training(kind, "mlp16", seed, (16,), 0.05, epochs, 150, 800, momentum=0.9, batch=32)
            for seed in seeds
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
        seeds = (5, 10, 21, 42, 84)  # the seeds of the paper, which also has six architectures
        how = {"momentum": 0.9, "batch": 32}
        return [
            Training(kind, name, seed, h, 0.1, (100,), 100, 500, **how)
            for name, h in shapes.items()
            for seed in seeds
        ]
    if kind == "brightness":
        # two architectures of the kind `networks`; the wider network stops earlier
        shapes = {"mlp16": ((16,), 60), "mlp256": ((256,), 20)}
        how = {"momentum": 0.9, "batch": 32}
        return [
            Training(kind, name, seed, hidden, 0.1, (epochs,), 797, 0, **how)
            for name, (hidden, epochs) in shapes.items()
            for seed in range(5)
        ]
    raise BadInputError(f"kind is {kind!r}; allowed are {', '.join(KINDS)}.")


def make(wanted: list[Training], out: Path, jobs: int = 1, mnist: Path | None = None) -> int:
    """Train and store the networks that `out` lacks. Return 1 if a network failed, else 0.

    After an interruption, only unfinished networks are trained again.
    """
    _remove_others(wanted, out)
    kinds = {network.kind for network in wanted}
    contents = {kind: _content_digest(images(kind, mnist)) for kind in kinds}
    todo = [network for network in wanted if not _is_stored(network, contents[network.kind], out)]
    store = partial(_store, contents=contents, out=out, mnist=mnist)

    def report(network: Training, result: str) -> str:
        return f"{network.kind}, {network.name}, seed {network.seed}: {result}"

    return training.make_all(wanted, todo, out, store, report, jobs, lambda network: network.work)


def images(kind: str, mnist: Path | None = None) -> Images:
    """Return the images of a kind, in the order in which they are split into parts."""
    if kind == "layers_mnist":
        return _mnist(mnist)
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    y = y[order].astype(np.int64)
    return Images(x[order] / 16.0, y % 2 if kind == "training" else y)


def mnist_file() -> Path | None:
    """Return the path of mnist.npz below CALHARNESS_DATA, or None if it is not there.

    The file has the arrays x_train, y_train, x_test and y_test.
    """
    data = os.environ.get("CALHARNESS_DATA")
    paths = [Path(data).expanduser() / name for name in MNIST_PATHS] if data else []
    return next((path for path in paths if path.is_file()), None)


def train(
    network: Training, x: np.ndarray, y: np.ndarray, classes: int
) -> Iterator[tuple[int, Weights]]:
    """Yield (epoch, weights) after each epoch that is stored; epoch 0 is before training.

    The weights are a list of (W (inputs, outputs), b (outputs,)), one pair per layer. Later steps
    change these arrays, so use them before the next iteration.

    First weights and offsets are uniform in +-1 / sqrt(inputs). With the gradient g of the mean
    cross-entropy of a batch, a step is

        v <- momentum v + g
        weights <- weights - rate v

    The last batch of an epoch may be smaller.
    """
    rng = np.random.default_rng([RECIPE, network.seed])
    weights = first_weights((x.shape[1], *network.hidden, classes), rng)
    velocity = [(np.zeros_like(w), np.zeros_like(b)) for w, b in weights]
    for epoch in range(network.epochs[-1] + 1):
        if epoch in network.epochs:
            yield epoch, weights
        if epoch == network.epochs[-1]:
            return
        order = rng.permutation(len(y))
        for start in range(0, len(y), network.batch):
            rows = order[start : start + network.batch]
            _step(x[rows], y[rows], weights, velocity, network.rate, network.momentum)


def gradients(x: np.ndarray, y: np.ndarray, weights: Weights) -> Weights:
    """Return the gradient of the mean cross-entropy with respect to all weights and offsets."""
    inputs = [x, *activations(x, weights)]
    outside = softmax(inputs.pop(), axis=1)
    outside[np.arange(len(y)), y] -= 1.0
    return backward(inputs, outside / len(y), weights)


def _step(
    x: np.ndarray, y: np.ndarray, weights: Weights, velocity: Weights, rate: float, momentum: float
) -> None:
    for parameters, speeds, slopes in zip(weights, velocity, gradients(x, y, weights)):
        for parameter, speed, slope in zip(parameters, speeds, slopes):
            speed *= momentum
            speed += slope
            parameter -= rate * speed


def _store(network: Training, contents: dict[str, str], out: Path, mnist: Path | None) -> str:
    """Train a network and write its files. Return a text with the number of files.

    Files are written in the order of the epochs. So if the last file exists, all exist.
    """
    kind = network.kind
    data = images(kind, mnist)
    cuts = [network.train, network.train + network.validation]
    x, y = np.split(data.x, cuts), np.split(data.y, cuts)
    origin = np.array(_origin_digest(network, contents[kind]))
    names = iter(network.files())
    for _, weights in train(network, x[0], y[0], int(data.y.max()) + 1):
        for arrays in _stored_arrays(kind, x, y, weights):
            with whole_file(out / kind / next(names)) as temporary:
                np.savez(temporary, **arrays, made=origin)
    return f"{len(network.files())} files"


def _stored_arrays(
    kind: str, x: list[np.ndarray], y: list[np.ndarray], weights: Weights
) -> list[dict[str, np.ndarray]]:
    """Return {name: array} for each file that is written after an epoch."""
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
        arrays[f"{part}_logits"] = activations(x[i], weights)[-1].astype(np.float32)
        arrays[f"{part}_labels"] = y[i]
    return [arrays]


def _content_digest(data: Images) -> str:
    """Return a digest of the pixels and labels."""
    return hashlib.sha256(np.ascontiguousarray(data.x).tobytes() + data.y.tobytes()).hexdigest()


def _origin_digest(network: Training, content: str) -> str:
    """Return a digest of everything that determines a network's files."""
    return digest(f"{RECIPE}|{astuple(network)}|{content}")


def _is_stored(network: Training, content: str, out: Path) -> bool:
    """Return True if all files of a network exist and the last file has the expected origin."""
    paths = [out / network.kind / name for name in network.files()]
    origin = _origin_digest(network, content)
    return all(path.is_file() for path in paths) and training.is_made(paths[-1], origin)


def _remove_others(wanted: list[Training], out: Path) -> None:
    """Delete files of an earlier recipe from the folders of the wanted kinds.

    This is needed because a problem family uses every file of its folder. Only files that this
    script wrote are deleted.
    """
    for kind in {network.kind for network in wanted}:
        networks = [network for network in (*wanted, *trainings(kind)) if network.kind == kind]
        used = {name for network in networks for name in network.files()}
        for path in (out / kind).glob("*.npz"):
            if path.name not in used:
                with np.load(path, allow_pickle=False) as arrays:
                    is_ours = "made" in arrays.files
                if is_ours:
                    path.unlink()


def _mnist(path: Path | None) -> Images:
    if path is None:
        raise BadInputError(
            f"{MNIST} is not below CALHARNESS_DATA; the kind layers_mnist needs it."
        )
    names = ("x_train", "y_train", "x_test", "y_test")
    with np.load(path, allow_pickle=False) as arrays:
        absent = [name for name in names if name not in arrays.files]
        if absent:
            raise BadInputError(
                f"{path} has no array {', '.join(absent)}; {', '.join(names)} are needed."
            )
        train_x, train_y, test_x, test_y = (arrays[name] for name in names)
    x = np.concatenate([train_x.reshape(len(train_x), -1), test_x.reshape(len(test_x), -1)]) / 255.0
    return Images(x, np.concatenate([train_y, test_y]).astype(np.int64))
