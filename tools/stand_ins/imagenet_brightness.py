"""Predict darker and brighter ImageNet validation images with timm (moskvichev2025, Figure 4b).

    calharness data make imagenet_brightness --images ILSVRC2012_val

This needs the extra `imagenet` (timm, torch, pillow), a folder of validation images and the
networks' weights. The folder has one subfolder per class. Sorted by name (n01440764, ...), the
1,000 subfolders are the classes 0..999. Weights come from a file (--weights NAME=FILE) or from the
local cache of the hub. timm downloads them only with --download.

`--n` images are drawn from all with `--seed`. The paper uses n = 1,000 and does not publish its
draw. The brightness of each image is changed by -50 % to +50 % in steps of 10 %. Pixels are
multiplied by 1 + percent / 100 and clipped; the paper does not name its operator. Each image is
then prepared as timm prepares images for that network.

A file <network>_brightness<percent>.npz of --out holds `logits` (n, 1000) float32 and `labels` (n,)
int64. Existing files are not computed again, so an interrupted job resumes.

The network vit_large_patch16_siglip_384.webli returns image features instead of classes, and the
paper does not name its output layer. With --head NAME=FILE, logits are weight f + bias for features
f (d,). FILE is an npz with these arrays:

    weight      (1000, d)
    bias        (1000,), optional
    normalise   optional; if not 0, features are first divided by their length

For a text head, `weight` is the model's scale times the normalised embeddings of 1,000 prompts, and
`normalise` is 1. The embeddings come from the text network of the same model (ViT-L-16-SigLIP-384
of open_clip).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.seeds import digest
from harness.common.writing import whole_file
from harness.errors import BadInputError

from .training import TimeLeft, is_made

RECIPE = 1  # raise this number when the files change; older files are then computed again
FOLDER = "imagenet_brightness"
LEVELS = tuple(range(-50, 51, 10))
NETWORKS = ("resnet50.a1_in1k", "vit_large_patch16_siglip_384.webli")
CLASSES = 1000
ENDINGS = (".jpeg", ".jpg", ".png")


@dataclass(frozen=True)
class Job:
    """Images and networks to predict with. `weights` and `heads` are {network: path}."""

    images: Path
    networks: tuple[str, ...]
    weights: dict
    heads: dict
    n: int = 1000
    seed: int = 0
    batch: int = 32
    device: str = "cpu"
    download: bool = False

    @cached_property
    def chosen(self) -> list[tuple[Path, int]]:
        """Return (path, class) of the n images that the seed draws from all images.

        Raises
        ------
        BadInputError
            If the folder has not exactly 1,000 classes, or fewer than n images.
        """
        if not self.images.is_dir():
            raise BadInputError(
                f"--images is {self.images}, which is no folder; "
                "the ImageNet validation images are needed."
            )
        classes = sorted(
            path
            for path in self.images.iterdir()
            if path.is_dir() and not path.name.startswith(".")
        )
        if len(classes) != CLASSES:
            raise BadInputError(
                f"--images has {len(classes)} folders; "
                f"{CLASSES:,} are needed, one per class of ImageNet."
            )
        all_images = [
            (path, label)
            for label, folder in enumerate(classes)
            for path in sorted(folder.iterdir())
            if path.suffix.lower() in ENDINGS
        ]
        if len(all_images) < self.n:
            raise BadInputError(
                f"--n is {self.n}, but {self.images} holds {len(all_images)} images; "
                "n can be at most this number."
            )
        order = np.random.default_rng(self.seed).permutation(len(all_images))
        return [all_images[i] for i in order[: self.n]]

    def origin_digest(self, network: str, percent: int) -> str:
        """Return a digest of a file's origin: names and sizes of images, weights and head."""
        images = [(path.name, path.stat().st_size, label) for path, label in self.chosen]
        stamps = [_stamp(files.get(network)) for files in (self.weights, self.heads)]
        return digest(f"{RECIPE}|{network}|{percent}|{stamps}|{images}")


def brightened(x: np.ndarray, percent: float) -> np.ndarray:
    """Return min(x (1 + percent / 100), 1): pixels in [0, 1] made brighter by `percent`."""
    return np.minimum(x * (1.0 + percent / 100.0), 1.0)


def level_name(percent: int) -> str:
    """Return a level's part of a file name, such as brightness-50 or brightness+10."""
    return f"brightness{percent:+d}"


def make(job: Job, out: Path) -> int:
    """Predict and store the files that `out` lacks, network by network. Return 0."""
    _check_packages()
    wanted = [(network, percent) for network in job.networks for percent in LEVELS]
    todo = [pair for pair in wanted if not is_made(out / _file(*pair), job.origin_digest(*pair))]
    print(
        f"  {len(wanted):,} files, {len(wanted) - len(todo):,} of them stored before, into {out}",
        file=sys.stderr,
    )
    remaining = TimeLeft(len(todo))
    for network in job.networks:
        levels = [percent for name, percent in todo if name == network]
        compute_logits = load(job, network) if levels else None
        for percent in levels:
            logits = np.concatenate([compute_logits(batch, percent) for batch in _batches(job)])
            arrays = {
                "logits": logits.astype(np.float32),
                "labels": np.array([y for _, y in job.chosen], dtype=np.int64),
            }
            with whole_file(out / _file(network, percent)) as temporary:
                np.savez(temporary, **arrays, made=np.array(job.origin_digest(network, percent)))
            print(f"  {_file(network, percent)}: stored; {remaining.after(1)}", file=sys.stderr)
    print(f"  {out}: {len(wanted):,} files stored")
    return 0


def load(job: Job, network: str) -> Callable[[list[Path], int], np.ndarray]:
    """Load a network of timm as a function (paths, percent) -> logits (len(paths), 1000).

    Raises
    ------
    BadInputError
        If weights or classes are missing.
    """
    if not job.download:
        _stay_offline()
    import timm
    import torch

    file = job.weights.get(network)
    overlay = {"file": str(file)} if file else None
    try:
        model = timm.create_model(network, pretrained=True, pretrained_cfg_overlay=overlay)
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        hint = "give them by --weights NAME=FILE, or let timm download them by --download"
        raise BadInputError(
            f"cannot load the weights of {network} ({type(error).__name__}: {message}); {hint}."
        ) from error
    model = model.eval().to(job.device)
    head = _head(job.heads[network]) if network in job.heads else None
    classes = CLASSES if head is not None else getattr(model, "num_classes", None)
    if classes != CLASSES:
        raise BadInputError(
            f"{network} has {classes} classes, and {CLASSES:,} are needed; "
            f"give its classes by --head {network}=FILE."
        )
    prepare = timm.data.create_transform(
        **timm.data.resolve_model_data_config(model), is_training=False
    )

    def compute_logits(paths: list[Path], percent: int) -> np.ndarray:
        batch = torch.stack([prepare(_image(path, percent)) for path in paths]).to(job.device)
        with torch.inference_mode():
            outputs = model(batch).float().cpu().numpy().astype(np.float64)
        return outputs if head is None else head(outputs)

    return compute_logits


def _stay_offline() -> None:
    """Let the client of the hub read only its cache.

    The client reads the environment variable once, when it is imported. If it was imported before,
    its constant must change too.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    if "huggingface_hub" in sys.modules:
        import huggingface_hub.constants

        huggingface_hub.constants.HF_HUB_OFFLINE = True


def _image(path: Path, percent: int) -> Any:
    """Return an image in RGB, made brighter by `percent`."""
    from PIL import Image

    try:
        pixels = np.asarray(Image.open(path).convert("RGB"), dtype=np.float64) / 255.0
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read as an image ({' '.join(str(error).split())[:200]}); "
            "restore or remove it."
        ) from error
    return Image.fromarray(np.rint(255.0 * brightened(pixels, percent)).astype(np.uint8))


def _head(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """Load an output layer from an npz. Return a function features (n, d) -> logits (n, 1000)."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
        if np.ndim(arrays.get("weight")) != 2 or len(arrays["weight"]) != CLASSES:
            raise BadInputError(
                f"{path} has no array weight of shape ({CLASSES}, d); a head needs one."
            )
    weight, bias = arrays["weight"].astype(np.float64), arrays.get("bias", 0.0)
    normalise = bool(arrays.get("normalise", False))

    def head(features: np.ndarray) -> np.ndarray:
        if features.shape[1] != weight.shape[1]:
            raise BadInputError(
                f"{path} has weights for {weight.shape[1]} features, "
                f"but the network has {features.shape[1]}; pass the head of this network."
            )
        length = np.linalg.norm(features, axis=1, keepdims=True) if normalise else 1.0
        return features / length @ weight.T + bias

    return head


def _batches(job: Job) -> list[list[Path]]:
    paths = [path for path, _ in job.chosen]
    return [paths[start : start + job.batch] for start in range(0, len(paths), job.batch)]


def _check_packages() -> None:
    absent = [name for name in ("timm", "torch", "PIL") if importlib.util.find_spec(name) is None]
    if absent:
        raise BadInputError(
            f"imagenet_brightness needs {', '.join(absent)}; "
            "install them with `pip install 'calharness[imagenet]'`."
        )


def _stamp(path: Path | None) -> tuple[str, int] | None:
    return None if path is None else (path.name, path.stat().st_size)


def _file(network: str, percent: int) -> str:
    return f"{network.replace('/', '_').replace(':', '_')}_{level_name(percent)}.npz"
