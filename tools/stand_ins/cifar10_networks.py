"""Train PreResNet-20 on CIFAR-10 from random weights, and store its predictions.

    calharness data make cifar10_networks

The predictions stand in for those of popordanoska2024. Training needs torch and pillow (the extra
`imagenet` installs both) and images below CALHARNESS_DATA (tools/stand_ins/cifar10_images.py). It
takes the images themselves if they are there, else JPEGs of them. `--images` chooses.

Every seed is one job. A job writes a checkpoint after every epoch, so an interrupted job resumes
where it stopped. All random numbers of an epoch depend on the seed and the epoch alone, so an
interruption does not change the result.

The paper (Appendix F) uses this setting, which `--epochs 250` reproduces:

    images          45,000 for training, 5,000 for validation
    optimiser       stochastic gradient descent, batches of 128
    momentum        0.9 (Nesterov)
    weight decay    1e-10
    learning rate   0.01 in the first epoch, then 0.1, divided by 10 at epochs 150 and 225

Any other number of epochs is a shortened schedule. Its learning rate rises linearly from 0.01 to
0.1 in the first 30 % of the steps, then falls linearly to 0. Further differences from the paper are
JPEGs, and products that are not in float32 (`--precision`; a CPU takes bfloat16 by default).

With `--device cuda`, images, shifts and training are on the GPU, and `--jobs 5` trains five seeds
at once on it. Neither was measured. tools/pack_parts.py packs code and images for such a machine.

`--width` trains a network for ciosek2026, with scores perturbed by sech noise of this width in the
loss. Every class against the others is a binary problem, and its score is the probability of the
class. The loss of an image is the sum over the classes of the log-loss of the perturbed score
(tools/stand_ins/perturbed_networks.py). Weights, batches and images are those of the plain network.

A file preresnet20_lossless_epochs<E>_seed<s>.npz holds the arrays below. Without `lossless` in its
name the images are JPEGs. A perturbed network has a name that ends in _h2^-6, its width.

    val_logits, test_logits   float32 (5000, 10) and (10000, 10)
    val_labels, test_labels   int64
    history                   validation loss and accuracy after each epoch, (E, 2)
    images                    lossless or jpeg
    hardware                  device, number format of products, version of torch

Test images are in one fixed random order, because the source of the JPEGs sorts them by class.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.common.seeds import digest
from harness.common.writing import whole_file
from harness.math.sech_noise import width_name

from . import cifar10_images, preresnet, training
from .preresnet import Hardware
from .training import TimeLeft, is_made

RECIPE = 1  # raise this number when training or files change; older files are then computed again
FOLDER, PERTURBED_FOLDER = "cifar10_networks", "cifar10_perturbed_networks"
NETWORK = "preresnet20"
PAPER_EPOCHS = 250
SEEDS = (5, 10, 21, 42, 84)
VALIDATION = 5000
BATCH = 128
MOMENTUM = 0.9
DECAY = 1e-10
RATE, FIRST_RATE = 0.1, 0.01
RISE = 0.3  # share of the steps of a shortened schedule in which the learning rate rises
MEAN = np.array([0.4914, 0.4822, 0.4465], dtype=np.float32)
SD = np.array([0.2470, 0.2435, 0.2616], dtype=np.float32)


class Images(NamedTuple):
    """Images `x` (n, 3, 32, 32) float32, standardised by channel, and labels `y` (n,) in 0..9."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Training:
    """A network to train: seed, number of epochs, width of the perturbation, and its images.

    `images` is a key of `cifar10_images.FILES`.
    """

    seed: int
    epochs: int
    width: float | None = None
    images: str = "jpeg"

    @property
    def file(self) -> str:
        kind = "" if self.images == "jpeg" else f"_{self.images}"
        end = "" if self.width is None else f"_{width_name(self.width)}"
        return f"{NETWORK}{kind}_epochs{self.epochs}_seed{self.seed}{end}.npz"


def make(wanted: list[Training], out: Path, jobs: int = 1, hardware: Hardware | None = None) -> int:
    """Train and store the networks that `out` lacks. Return 1 if a network failed, else 0."""
    preresnet.check_packages()
    sources = {kind: cifar10_images.find(kind) for kind in {network.images for network in wanted}}
    checksums = {kind: source.checksum for kind, source in sources.items()}
    origins = {network: origin(network, checksums[network.images]) for network in wanted}
    todo = [network for network in wanted if not is_made(out / network.file, origins[network])]
    store = partial(
        _store, origins=origins, sources=sources, out=out, hardware=hardware or Hardware()
    )
    return training.make_all(
        wanted, todo, out, store, "{0.file}: {1}".format, jobs, lambda network: network.epochs
    )


def origin(network: Training, checksum: str) -> str:
    """Return a digest of everything that determines a network's file, also of its images.

    The digest leaves out the hardware, which is named in the file. Other products are rounded in
    another way, so that hundreds of epochs end with other weights.
    """
    settings = (network.seed, network.epochs)
    if network.width is not None:
        settings += (network.width,)
    return digest(f"{RECIPE}|{settings}|{checksum}")


def read_images(source: cifar10_images.Source) -> tuple[Images, Images, Images]:
    """Return training, validation and test images, each part in a fixed random order."""
    parts = source.read()
    orders = [np.random.default_rng([RECIPE, i]).permutation(len(p.y)) for i, p in enumerate(parts)]
    train, test = (
        Images(standardised(part.x[order]), part.y[order]) for part, order in zip(parts, orders)
    )
    cut = len(train.y) - VALIDATION
    return Images(train.x[:cut], train.y[:cut]), Images(train.x[cut:], train.y[cut:]), test


def standardised(x: np.ndarray) -> np.ndarray:
    """Return images (n, 3, 32, 32) uint8 as float32, standardised by channel."""
    levels = np.arange(256, dtype=np.float32)[:, None] / np.float32(255.0)
    table = (levels - MEAN) / SD  # (256, 3): the value of each level in each channel
    return np.stack([table[x[:, c], c] for c in range(3)], axis=1)


def learning_rate(step: float, epochs: int) -> float:
    """Return the learning rate after `step` epochs; `step` may be a fraction.

    With `epochs=250`, the rate follows the steps of the paper. Otherwise it rises and then falls
    linearly.
    """
    if epochs == PAPER_EPOCHS:
        if step < 1:
            return FIRST_RATE
        return RATE / 10 ** ((step >= 150) + (step >= 225))
    top = RISE * epochs
    if step < top:
        return FIRST_RATE + (RATE - FIRST_RATE) * step / top
    return RATE * (epochs - step) / (epochs - top)


def _store(network, origins, sources, out, hardware):
    """Train a network from its last checkpoint on, write its predictions, delete the checkpoint."""
    import torch

    torch.set_num_threads(1)
    device = hardware.device
    train, val, test = read_images(sources[network.images])
    torch.manual_seed(network.seed)
    model = preresnet.preresnet20().to(device)
    optimiser = new_optimiser(model)
    checkpoint = out / f"{network.file}.checkpoint"
    history = _restored(checkpoint, origins[network], model, optimiser, device)
    images, labels = preresnet.padded(train.x, device), torch.from_numpy(train.y).to(device)
    val_x, test_x = (torch.from_numpy(part.x).to(device) for part in (val, test))
    del train
    remaining = TimeLeft(network.epochs - len(history))
    for epoch in range(len(history), network.epochs):
        _train_epoch(model, optimiser, images, labels, epoch, network, hardware)
        history.append(_loss_and_accuracy(preresnet.logits(model, val_x), val.y))
        state = {
            "origin": origins[network],
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "history": history,
        }
        with whole_file(checkpoint) as temporary:
            torch.save(state, temporary)
        print(
            f"  {network.file}: epoch {epoch + 1} of {network.epochs}: validation loss "
            f"{history[-1][0]:.3f}, accuracy {history[-1][1]:.4f}; {remaining.after(1)}",
            file=sys.stderr,
            flush=True,
        )
    arrays = {
        "val_logits": preresnet.logits(model, val_x),
        "val_labels": val.y,
        "test_logits": preresnet.logits(model, test_x),
        "test_labels": test.y,
        "history": np.array(history),
        "images": np.array(network.images),
        "hardware": np.array(hardware.described),
    }
    with whole_file(out / network.file) as temporary:
        np.savez_compressed(temporary, **arrays, made=np.array(origins[network]))
    checkpoint.unlink()
    return f"accuracy on the test images {_loss_and_accuracy(arrays['test_logits'], test.y)[1]:.4f}"


def new_optimiser(model):
    """Return the optimiser of the paper; `_train_epoch` sets its learning rate."""
    import torch

    return torch.optim.SGD(
        model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True
    )


def _restored(checkpoint, origin, model, optimiser, device):
    """Load a checkpoint into `model` and `optimiser`, and return its history.

    Return [] if the checkpoint is absent or has another origin, that is other settings or images.
    """
    import torch

    if not checkpoint.is_file():
        return []
    state = torch.load(checkpoint, map_location=device, weights_only=True)
    if state["origin"] != origin:
        return []
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return list(state["history"])


def _train_epoch(model, optimiser, images, labels, epoch, network, hardware):
    """Train one epoch. Its random numbers depend on the seed and the epoch alone."""
    preresnet.train_epoch(
        model,
        optimiser,
        images,
        labels,
        BATCH,
        lambda share: learning_rate(epoch + share, network.epochs),
        np.random.default_rng([RECIPE, network.seed, epoch]),
        np.random.default_rng([RECIPE, network.seed, epoch, 1]),
        network.width,
        hardware,
    )


def _loss_and_accuracy(logits, y):
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return float(-log_p[np.arange(len(y)), y].mean()), float((z.argmax(axis=1) == y).mean())
