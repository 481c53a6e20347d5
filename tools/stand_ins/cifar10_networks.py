"""Train PreResNet-20 on CIFAR-10 from random weights, and store its predictions.

    calharness data make cifar10_networks

The predictions stand in for those of popordanoska2024. Training needs torch and pillow (the extra
`imagenet` installs both) and the file images/cifar10_jpeg.npz below CALHARNESS_DATA.

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
0.1 in the first 30 % of the steps, then falls linearly to 0. Two more differences from the paper
remain: the images are JPEGs, and a CPU computes products in bfloat16.

`--width` trains a network for ciosek2026, with scores perturbed by sech noise of this width in the
loss. Every class against the others is a binary problem, and its score is the probability of the
class. The loss of an image is the sum over the classes of the log-loss of the perturbed score
(tools/stand_ins/perturbed_networks.py). Weights, batches and images are those of the plain network.

A file <network>_epochs<E>_seed<s>.npz, or <network>_epochs<E>_seed<s>_h2^-6.npz, holds:

    val_logits, test_logits   float32 (5000, 10) and (10000, 10)
    val_labels, test_labels   int64
    history                   validation loss and accuracy after each epoch, (E, 2)

The source sorts test images by class. We store them in one fixed random order.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import sys
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.common.seeds import digest
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.math.sech_noise import width_name

from . import perturbed_networks, training
from .training import TimeLeft, is_made

RECIPE = 1  # raise this number when training or files change; older files are then computed again
FOLDER, PERTURBED_FOLDER = "cifar10_networks", "cifar10_perturbed_networks"
IMAGES = Path("images", "cifar10_jpeg.npz")
NETWORK = "preresnet20"
PAPER_EPOCHS = 250
SEEDS = (5, 10, 21, 42, 84)
VALIDATION = 5000
BATCH = 128
MOMENTUM = 0.9
DECAY = 1e-10
RATE, FIRST_RATE = 0.1, 0.01
RISE = 0.3  # share of the steps of a shortened schedule in which the learning rate rises
PADDING = 4
MEAN = np.array([0.4914, 0.4822, 0.4465], dtype=np.float32)
SD = np.array([0.2470, 0.2435, 0.2616], dtype=np.float32)


class Images(NamedTuple):
    """Images `x` (n, 3, 32, 32) float32, standardised by channel, and labels `y` (n,) in 0..9."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Training:
    """Seed and number of epochs of a network to train, and the width of the perturbation."""

    seed: int
    epochs: int
    width: float | None = None

    @property
    def file(self) -> str:
        end = "" if self.width is None else f"_{width_name(self.width)}"
        return f"{NETWORK}_epochs{self.epochs}_seed{self.seed}{end}.npz"


def make(wanted: list[Training], out: Path, jobs: int = 1, device: str = "cpu") -> int:
    """Train and store the networks that `out` lacks. Return 1 if a network failed, else 0."""
    _check_packages()
    path = images_file()
    if path is None:
        raise BadInputError(
            f"cifar10_networks needs the file {IMAGES}; put it into the folder CALHARNESS_DATA."
        )
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    origins = {network: _origin_digest(network, checksum) for network in wanted}
    todo = [network for network in wanted if not is_made(out / network.file, origins[network])]
    store = partial(_store, origins=origins, path=path, out=out, device=device)
    return training.make_all(
        wanted, todo, out, store, "{0.file}: {1}".format, jobs, lambda network: network.epochs
    )


def images_file() -> Path | None:
    """Return the path of the CIFAR-10 images below CALHARNESS_DATA, or None if absent."""
    data = os.environ.get("CALHARNESS_DATA")
    path = Path(data).expanduser() / IMAGES if data else None
    return path if path is not None and path.is_file() else None


def read_images(path: Path) -> tuple[Images, Images, Images]:
    """Return training, validation and test images, each part in a fixed random order."""
    with np.load(path, allow_pickle=False) as arrays:
        train, test = (_decoded(arrays, part) for part in ("train", "test"))
    order = np.random.default_rng([RECIPE, 0]).permutation(len(train.y))
    train = Images(train.x[order], train.y[order])
    order = np.random.default_rng([RECIPE, 1]).permutation(len(test.y))
    cut = len(train.y) - VALIDATION
    return (
        Images(train.x[:cut], train.y[:cut]),
        Images(train.x[cut:], train.y[cut:]),
        Images(test.x[order], test.y[order]),
    )


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


def augmented(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return images (n, 3, 32, 32) with random shifts and mirroring.

    Each image is shifted by up to 4 pixels in each direction and padded with zeros. Each image is
    mirrored with probability 1/2.
    """
    n, _, height, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (PADDING, PADDING), (PADDING, PADDING)))
    top, left = rng.integers(0, 2 * PADDING + 1, n), rng.integers(0, 2 * PADDING + 1, n)
    mirrored = rng.random(n) < 0.5
    result = np.empty_like(x)
    for i, (row, column) in enumerate(zip(top, left)):
        shifted = padded[i, :, row : row + height, column : column + width]
        result[i] = shifted[..., ::-1] if mirrored[i] else shifted
    return result


def preresnet20():
    """Return an untrained PreResNet-20: three stages of three residual blocks, 10 classes."""
    import torch
    from torch import nn

    class Block(nn.Module):
        """Residual block with pre-activation: x -> x + conv(relu(bn(conv(relu(bn(x)))))).

        The shortcut is a 1 x 1 convolution where the numbers of channels differ.
        """

        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first = nn.Sequential(
                nn.BatchNorm2d(inputs),
                nn.ReLU(),
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            )
            self.second = nn.Sequential(
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            )
            self.shortcut = nn.Identity()
            if inputs != outputs:
                self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

        def forward(self, x):
            return self.shortcut(x) + self.second(self.first(x))

    width = 16
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False)]
    for outputs in (16, 32, 64):
        for block in range(3):
            layers.append(Block(width, outputs, 2 if block == 0 and outputs > 16 else 1))
            width = outputs
    layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    network = nn.Sequential(*layers, nn.Linear(width, 10))
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            inputs = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
            nn.init.normal_(module.weight, 0.0, (2.0 / inputs) ** 0.5)
    return network.to(memory_format=torch.channels_last)


def _store(network, origins, path, out, device):
    """Train a network from its last checkpoint on, write its predictions, delete the checkpoint."""
    import torch

    torch.set_num_threads(1)
    train, val, test = read_images(path)
    torch.manual_seed(network.seed)
    model = preresnet20().to(device)
    optimiser = torch.optim.SGD(
        model.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True
    )
    checkpoint = out / f"{network.file}.checkpoint"
    history = _restored(checkpoint, origins[network], model, optimiser, device)
    remaining = TimeLeft(network.epochs - len(history))
    for epoch in range(len(history), network.epochs):
        _train_epoch(model, optimiser, train, epoch, network, device)
        history.append(_loss_and_accuracy(_logits(model, val.x, device), val.y))
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
        "val_logits": _logits(model, val.x, device),
        "val_labels": val.y,
        "test_logits": _logits(model, test.x, device),
        "test_labels": test.y,
        "history": np.array(history),
    }
    with whole_file(out / network.file) as temporary:
        np.savez_compressed(temporary, **arrays, made=np.array(origins[network]))
    checkpoint.unlink()
    return f"accuracy on the test images {_loss_and_accuracy(arrays['test_logits'], test.y)[1]:.4f}"


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


def _train_epoch(model, optimiser, images, epoch, network, device):
    import torch

    rng = np.random.default_rng([RECIPE, network.seed, epoch])
    noise = np.random.default_rng([RECIPE, network.seed, epoch, 1])
    order = rng.permutation(len(images.y))
    model.train()
    for start in range(0, len(order), BATCH):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(epoch + start / len(order), network.epochs)
        rows = order[start : start + BATCH]
        x = torch.from_numpy(augmented(images.x[rows], rng)).to(device)
        x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cpu"):
            outputs = model(x)
        optimiser.zero_grad()
        backward(outputs.float(), images.y[rows], network.width, noise)
        optimiser.step()


def backward(outputs, y, width, rng):
    """Add the derivatives of the mean loss of a batch to those of the weights.

    The loss is the cross-entropy. With a width it is that of `perturbed_networks.class_slopes`,
    and `rng` draws the perturbation.
    """
    import torch
    from torch.nn.functional import cross_entropy

    if width is None:
        cross_entropy(outputs, torch.from_numpy(y).to(outputs.device)).backward()
        return
    z = outputs.detach().cpu().numpy()
    slopes = perturbed_networks.class_slopes(z, y, rng.random(z.shape), width) / len(y)
    outputs.backward(torch.from_numpy(slopes.astype(np.float32)).to(outputs.device))


def _logits(model, x, device):
    """Return the logits (n, 10) as float32, computed without bfloat16."""
    import torch

    model.eval()
    with torch.inference_mode():
        parts = [
            model(torch.from_numpy(x[start : start + 500]).to(device)).float().cpu().numpy()
            for start in range(0, len(x), 500)
        ]
    return np.concatenate(parts)


def _origin_digest(network, checksum):
    """Return a digest of everything that determines a network's file, also of its images."""
    settings = tuple(value for value in astuple(network) if value is not None)
    return digest(f"{RECIPE}|{settings}|{checksum}")


def _loss_and_accuracy(logits, y):
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return float(-log_p[np.arange(len(y)), y].mean()), float((z.argmax(axis=1) == y).mean())


def _decoded(arrays, part):
    """Return the images of a part ("train" or "test") in the order of the file."""
    from PIL import Image

    data, ends = arrays[f"jpeg_{part}"], arrays[f"end_{part}"]
    x = np.empty((len(ends), 3, 32, 32), dtype=np.float32)
    for i, (start, end) in enumerate(zip([0, *ends[:-1]], ends)):
        pixels = np.asarray(Image.open(io.BytesIO(data[start:end].tobytes())).convert("RGB"))
        x[i] = ((pixels / np.float32(255.0) - MEAN) / SD).transpose(2, 0, 1)
    return Images(x, arrays[f"y_{part}"].astype(np.int64))


def _check_packages():
    absent = [name for name in ("torch", "PIL") if importlib.util.find_spec(name) is None]
    if absent:
        raise BadInputError(
            f"cifar10_networks needs {', '.join(absent)}; `pip install 'calharness[imagenet]'` "
            "gets both torch and pillow."
        )
