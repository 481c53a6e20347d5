"""PreResNet-20 in torch: the network, and epochs of training on a CPU or with CUDA.

All images lie on the device of the network. The random numbers of an epoch are drawn by numpy, so
that both devices see the same batches and the same shifts.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError

from . import perturbed_networks

PRECISIONS = ("bfloat16", "tf32", "float32")
PADDING = 4


@dataclass(frozen=True)
class Hardware:
    """Where and how a network is trained.

    Parameters
    ----------
    device : str
        torch's name of the device, cpu or cuda.
    precision : str or None
        Number format of products in training: bfloat16, tf32 (only CUDA) or float32. None takes
        bfloat16 on a CPU and float32 with CUDA. Logits are always computed in float32.
    """

    device: str = "cpu"
    precision: str | None = None

    def __post_init__(self) -> None:
        if self.precision not in (None, *PRECISIONS):
            raise BadInputError(
                f"precision is {self.precision!r}; allowed are {', '.join(PRECISIONS)}."
            )
        if self.precision == "tf32" and not self.is_cuda:
            raise BadInputError("precision is 'tf32', but only CUDA has it; give --device cuda.")

    @property
    def is_cuda(self) -> bool:
        return self.device.startswith("cuda")

    @property
    def products(self) -> str:
        """Return the number format of products in training."""
        return self.precision or ("float32" if self.is_cuda else "bfloat16")

    @property
    def described(self) -> str:
        """Describe the hardware and torch, such as "cpu, bfloat16, torch 2.13.0"."""
        import torch

        name = torch.cuda.get_device_name(self.device) if self.is_cuda else self.device
        return f"{name}, {self.products}, torch {torch.__version__}"


def check_packages() -> None:
    """Raise BadInputError if torch or pillow is absent."""
    absent = [name for name in ("torch", "PIL") if importlib.util.find_spec(name) is None]
    if absent:
        raise BadInputError(
            f"cifar10_networks needs {', '.join(absent)}; `pip install 'calharness[imagenet]'` "
            "gets both torch and pillow."
        )


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


def padded(x, device):
    """Return images (n, 3, 32, 32) on the device as (n, 40, 40, 3), with zeros around them."""
    import torch

    n, channels, height, width = x.shape
    result = torch.zeros((n, height + 2 * PADDING, width + 2 * PADDING, channels))
    result[:, PADDING : PADDING + height, PADDING : PADDING + width] = torch.from_numpy(
        x.transpose(0, 2, 3, 1)
    )
    return result.to(device)


def augmented(images, rows, top, left, mirrored):
    """Return padded images as (n, 3, 32, 32) in channels-last order, shifted and mirrored.

    Image `rows[i]` is cut out at row `top[i]` and column `left[i]` of the padded image, and is
    mirrored where `mirrored[i]`. All arguments are tensors on one device.
    """
    import torch

    pixels = torch.arange(images.shape[1] - 2 * PADDING, device=images.device)
    across = torch.where(mirrored[:, None], len(pixels) - 1 - pixels, pixels)
    down, across = top[:, None] + pixels, left[:, None] + across
    return images[rows[:, None, None], down[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)


def draw_epoch(n, batch, rng):
    """Return the order of n images, and a row (top, left, mirrored) for each image in this order.

    A shift is 0 to 8 pixels from the upper left corner of the padded image. An image is mirrored
    with probability 1/2.
    """
    order = rng.permutation(n)
    draws = []
    for start in range(0, n, batch):
        size = min(batch, n - start)
        shifts = [rng.integers(0, 2 * PADDING + 1, size) for _ in range(2)]
        draws.append(np.stack([*shifts, rng.random(size) < 0.5], axis=1))
    return order, np.concatenate(draws)


def train_epoch(model, optimiser, images, labels, batch, rate, rng, noise, width, hardware):
    """Train a network on all images once.

    Parameters
    ----------
    model, optimiser
        The network and its torch optimiser.
    images, labels : tensors
        Padded images (n, 40, 40, 3) and labels (n,) on the device.
    batch : int
        Number of images in a batch.
    rate : callable
        Share of the epoch that is done, 0 to 1 -> learning rate.
    rng, noise : numpy.random.Generator
        Draw order and shifts of the images, and the perturbation.
    width : float or None
        Width of the perturbation, see `backward`.
    hardware : Hardware
        Where and how products are computed.
    """
    import torch

    n, device = len(labels), images.device
    order, draws = (torch.from_numpy(part).to(device) for part in draw_epoch(n, batch, rng))
    if hardware.is_cuda:
        torch.backends.cudnn.allow_tf32 = hardware.products == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = hardware.products == "tf32"
    model.train()
    for start in range(0, n, batch):
        for group in optimiser.param_groups:
            group["lr"] = rate(start / n)
        rows = order[start : start + batch]
        top, left, mirrored = draws[start : start + batch].unbind(1)
        x = augmented(images, rows, top, left, mirrored.bool())
        bfloat16 = hardware.products == "bfloat16"
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            outputs = model(x)
        optimiser.zero_grad()
        backward(outputs.float(), labels[rows], width, noise)
        optimiser.step()


def backward(outputs, y, width, rng):
    """Add the derivatives of the mean loss of a batch to those of the weights.

    The loss is the cross-entropy. With a width it is that of `perturbed_networks.class_slopes`,
    and `rng` draws the perturbation.
    """
    import torch
    from torch.nn.functional import cross_entropy

    if width is None:
        cross_entropy(outputs, y).backward()
        return
    z = outputs.detach().cpu().numpy()
    slopes = perturbed_networks.class_slopes(z, y.cpu().numpy(), rng.random(z.shape), width)
    outputs.backward(torch.from_numpy((slopes / len(y)).astype(np.float32)).to(outputs.device))


def logits(model, x):
    """Return the logits (n, 10) of images (n, 3, 32, 32) on the device, computed in float32."""
    import torch

    model.eval()
    with torch.inference_mode():
        parts = [model(x[start : start + 500]).float().cpu() for start in range(0, len(x), 500)]
    return torch.cat(parts).numpy()
