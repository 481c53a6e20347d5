"""Train LeNet-5 on CIFAR-10 from random weights, and store its predictions.

    calharness data make cifar10_lenet5

The networks stand in for the LeNet-5 of Kull et al. (2019), which gruber2025 and moskvichev2025
use. Recipe and deviations are in experiments/gruber2025/NOTES.md, "LeNet-5 trained again". Training
needs the lossless images of `cifar10_images` below CALHARNESS_DATA.

Every seed is one job. A job writes a checkpoint after every epoch, so an interrupted job resumes
where it stopped. All random numbers of an epoch depend on the seed and the epoch alone, so an
interruption changes no bit. The checkpoint stays, so a call with more epochs goes on from there.

A file lenet5_epochs<E>_seed<s>.npz is stored after the epochs of KEPT and after the last. It holds:

    val_logits, test_logits   float32 (5000, 10) and (10000, 10)
    val_labels, test_labels   int64; test images are in the official order
    history                   training loss, validation loss and accuracy of each epoch, (E, 3)
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from harness.common.seeds import digest
from harness.common.writing import whole_file

from . import cifar10_images, lenet5, training
from .cifar10_images import Images, Source
from .training import TimeLeft, is_made

RECIPE = 1  # raise this number when training or files change; older files are then computed again
FOLDER = "cifar10_lenet5"
NETWORK = "lenet5"
EPOCHS = 300  # of the whole schedule; a smaller number is a prefix of it
KEPT = (160, 180, 300)
BATCH = 128
MOMENTUM = 0.9
DECAY = 2e-4  # the penalty is 1e-4 of the squared kernels
SHIFT = 4.0  # pixels, 12.5 % of height and width
SPLIT, WEIGHTS, EPOCH = 1, 2, 3  # streams of random numbers of a seed


class Scale(NamedTuple):
    """Mean and standard deviation (3,) of the channels, float32."""

    mean: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True)
class Training:
    """Seed of a network to train, and the epochs after which it ends."""

    seed: int
    epochs: int = EPOCHS

    @property
    def snapshots(self) -> list[int]:
        """Epochs after which predictions are stored."""
        return sorted({epoch for epoch in KEPT if epoch < self.epochs} | {self.epochs})


def file_name(seed: int, epochs: int) -> str:
    """Return the name of the file of predictions."""
    return f"{NETWORK}_epochs{epochs}_seed{seed}.npz"


def make(wanted: list[Training], out: Path, jobs: int = 1) -> int:
    """Train and store the networks that `out` lacks. Return 1 if a network failed, else 0."""
    source = cifar10_images.find("lossless")
    checksum = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in source.paths)
    todo = [network for network in wanted if lacking_epochs(network, out, checksum)]
    store = partial(_store, source=source, checksum=checksum, out=out)
    return training.make_all(
        wanted, todo, out, store, "seed {0.seed}: {1}".format, jobs, lambda network: network.epochs
    )


def origin(seed: int, epochs: int, checksum: str) -> str:
    """Return a digest of everything that determines a file of predictions."""
    return digest(f"{RECIPE}|{seed}|{epochs}|{checksum}")


def split(images: Images, seed: int) -> tuple[Images, Images, Scale]:
    """Draw a tenth for validation. Return both parts, and the scale of the larger one."""
    order = np.random.default_rng([RECIPE, seed, SPLIT]).permutation(len(images.y))
    cut = len(order) // 10
    train, val = (Images(images.x[rows], images.y[rows]) for rows in (order[cut:], order[:cut]))
    values = np.arange(256)
    mean, sd = np.empty(3), np.empty(3)
    for c in range(3):
        shares = np.bincount(train.x[:, c].ravel(), minlength=256) / train.x[:, c].size
        mean[c] = shares @ values
        sd[c] = np.sqrt(shares @ (values - mean[c]) ** 2)
    return train, val, Scale(mean.astype(np.float32), sd.astype(np.float32))


def learning_rate(epoch: int) -> float:
    """Return the learning rate of an epoch, counted from 0."""
    return 0.1 / 10 ** ((epoch > 60) + (epoch > 120) + (epoch > 160))


def standardised(x: np.ndarray, scale: Scale) -> np.ndarray:
    """Return images (n, 3, 32, 32) uint8 as float32 (3, 32, 32, n), standardised by channel."""
    columns = np.ascontiguousarray(x.transpose(1, 2, 3, 0)).astype(np.float32)
    columns -= scale.mean[:, None, None, None]
    columns /= scale.sd[:, None, None, None]
    return columns


@njit(cache=True)
def augment(x, rows, shifts, mirrored, mean, sd, out):
    """Write shifted, mirrored and standardised images into `out` (3, 32, 32, len(rows)).

    The value at (u, v) is that of image `rows[i]` at (u + shifts[i, 0], v + shifts[i, 1]),
    interpolated linearly. It is 0 where that point is outside the image. Afterwards, columns are
    mirrored where `mirrored[i]`.
    """
    size = x.shape[2]
    line = np.empty(size, np.float32)
    for i in range(len(rows)):
        image, last = x[rows[i]], size - 1
        down, right = shifts[i]
        whole = int(np.floor(right))
        part = np.float32(right - whole)
        begin, end = max(0, int(np.ceil(-right))), min(last, int(np.floor(last - right)))
        for c in range(3):
            middle, slope = mean[c], np.float32(1) / sd[c]
            for u in range(size):
                for v in range(size):
                    out[c, u, v, i] = 0
                if u + down < 0 or u + down > last:
                    continue
                above = int(np.floor(u + down))
                share = np.float32(u + down - above)
                first, second = image[c, above], image[c, min(above + 1, last)]
                for v in range(size):
                    low, high = np.float32(first[v]), np.float32(second[v])
                    line[v] = (low + share * (high - low) - middle) * slope
                for v in range(begin, end + 1):
                    k = v + whole
                    value = line[k] + part * (line[min(k + 1, last)] - line[k])
                    out[c, u, last - v if mirrored[i] else v, i] = value


def first_state(seed: int) -> dict[str, Any]:
    """Return weights, velocities and history of a network before its first epoch."""
    weights = lenet5.first_weights(np.random.default_rng([RECIPE, seed, WEIGHTS]))
    velocities = {
        name: np.zeros_like(w)
        for name, w in weights.items()
        if name.split(".")[1] not in lenet5.MOVING
    }
    return {"weights": weights, "velocities": velocities, "history": []}


def train_epoch(state: dict[str, Any], images: Images, scale: Scale, seed: int) -> float:
    """Train the weights for one epoch. Return the mean loss of its batches.

    The last images of the epoch's order, less than a batch, are left out.
    """
    epoch, total = len(state["history"]), 0.0
    rng, rate = np.random.default_rng([RECIPE, seed, EPOCH, epoch]), learning_rate(epoch)
    n = len(images.y)
    order = rng.permutation(n)
    shifts, mirrored = rng.uniform(-SHIFT, SHIFT, (n, 2)), rng.random(n) < 0.5
    x, buffers = np.empty((*images.x.shape[1:], BATCH), np.float32), lenet5.Buffers.of(BATCH)
    weights, velocities = state["weights"], state["velocities"]
    for start in range(0, n - BATCH + 1, BATCH):
        rows = order[start : start + BATCH]
        augment(images.x, rows, shifts[rows], mirrored[rows], scale.mean, scale.sd, x)
        loss, slopes = lenet5.loss_and_slopes(weights, x, images.y[rows], buffers)
        total += loss
        for name, velocity in velocities.items():
            slope, weight = slopes[name], weights[name]
            if name.endswith(".kernel"):
                slope = slope + DECAY * weight
            velocity *= MOMENTUM
            velocity -= rate * slope
            weight += MOMENTUM * velocity - rate * slope
    return total / (n // BATCH)


def predict(weights: lenet5.Weights, x: np.ndarray, scale: Scale, batch: int = 250) -> np.ndarray:
    """Return the logits (n, classes) of images (n, 3, 32, 32), float32."""
    parts = [
        lenet5.logits(weights, standardised(x[start : start + batch], scale))
        for start in range(0, len(x), batch)
    ]
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T)


def loss_and_accuracy(logits: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return log-loss and accuracy, in float64."""
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]
    return float(losses.mean()), float((z.argmax(axis=1) == y).mean())


def train(network: Training, images: Images, test: Images, out: Path, checksum: str) -> str:
    """Train a network from its last checkpoint on, and store its predictions. Return a summary."""
    seed, lacking = network.seed, lacking_epochs(network, out, checksum)
    learning, val, scale = split(images, seed)
    checkpoint = out / f"{NETWORK}_seed{seed}.checkpoint.npz"
    made = origin(seed, 0, checksum)
    state = _restored(checkpoint, made)
    if state is None or any(epochs < len(state["history"]) for epochs in lacking):
        state = first_state(seed)  # no checkpoint, or one later than predictions that are gone
    history = state["history"]
    remaining = TimeLeft(max(1, network.epochs - len(history)))
    while True:
        if len(history) in lacking:
            path = out / file_name(seed, len(history))
            with whole_file(path) as temporary:
                np.savez_compressed(
                    temporary,
                    val_logits=predict(state["weights"], val.x, scale),
                    val_labels=val.y,
                    test_logits=predict(state["weights"], test.x, scale),
                    test_labels=test.y,
                    history=np.array(history),
                    made=np.array(origin(seed, len(history), checksum)),
                )
        if len(history) >= network.epochs:
            return f"{network.epochs} epochs, validation loss {history[network.epochs - 1][1]:.4f}"
        loss = train_epoch(state, learning, scale, seed)
        history.append((loss, *loss_and_accuracy(predict(state["weights"], val.x, scale), val.y)))
        _write_checkpoint(state, checkpoint, made)
        print(
            f"  seed {seed}: epoch {len(history)} of {network.epochs}: training loss {loss:.3f}, "
            f"validation loss {history[-1][1]:.3f}, accuracy {history[-1][2]:.4f}; "
            f"{remaining.after(1)}",
            file=sys.stderr,
            flush=True,
        )


def lacking_epochs(network: Training, out: Path, checksum: str) -> list[int]:
    """Return the epochs of a network whose file of predictions is absent or out of date."""
    return [
        epochs
        for epochs in network.snapshots
        if not is_made(
            out / file_name(network.seed, epochs), origin(network.seed, epochs, checksum)
        )
    ]


def _store(network: Training, source: Source, checksum: str, out: Path) -> str:
    return train(network, *source.read(), out, checksum)


def _write_checkpoint(state: dict[str, Any], path: Path, made: str) -> None:
    arrays = {"made": np.array(made), "history": np.array(state["history"])}
    for group in ("weights", "velocities"):
        arrays |= {f"{group}/{name}": array for name, array in state[group].items()}
    with whole_file(path) as temporary:
        np.savez(temporary, **arrays)


def _restored(path: Path, made: str) -> dict[str, Any] | None:
    """Return the state of a checkpoint, or None if it is absent or of another origin."""
    if not is_made(path, made):
        return None
    state: dict[str, Any] = {"weights": {}, "velocities": {}}
    with np.load(path, allow_pickle=False) as arrays:
        state["history"] = [tuple(row) for row in arrays["history"]]
        for name in arrays.files:
            group, _, key = name.partition("/")
            if key:
                state[group][key] = arrays[name]
    return state
