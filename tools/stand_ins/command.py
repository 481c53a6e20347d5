"""Commands `calharness data make`: compute stand-ins for files that nobody can download."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.base import SETTINGS, Command
from harness.common.arguments import integers, split
from harness.common.paths import CACHE
from harness.errors import BadInputError

HELP = "Make stand-ins for data files that nobody can download."
app = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS, help=HELP)
Jobs = Annotated[int, typer.Option(min=1, help="Worker processes.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Output folder.", show_default="a folder of this name in the cache"),
]


@app.command("tabular_oof", cls=Command, context_settings=SETTINGS)
def tabular_oof(
    csv: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER", help="Folders of CSV tables.", show_default="CALHARNESS_DATA/uci_csv"
        ),
    ] = None,
    openml: Annotated[
        str | None, typer.Option(metavar="ID,...", help="OpenML data sets to download.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these tables.")
    ] = None,
    max_rows: Annotated[
        int, typer.Option(help="Largest number of rows per table, drawn at random.")
    ] = 2000,
    folds: Annotated[str, typer.Option(help="Outer folds of 0..9, comma-separated.")] = "0",
    models: Annotated[
        str | None, typer.Option(help="Families of models, comma-separated.", show_default="all")
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
) -> int:
    """Make an offline stand-in for TabRepo.

    The store holds out-of-fold predictions of models that are trained here on local tables. Exit
    status 1 if a task failed.
    """
    from harness.tools.stand_ins import tables as sources
    from harness.tools.stand_ins import tabular

    families = select("--models", models, list(tabular.FAMILIES))
    outer = [int(fold) for fold in select("--folds", folds, list(map(str, range(tabular.OUTER))))]
    if max_rows < sources.SMALLEST_TABLE:
        raise BadInputError(
            f"--max-rows is {max_rows}; at least {sources.SMALLEST_TABLE} are needed."
        )
    names = None if tables is None else split(tables)
    gathered = sources.gather(_table_folders(csv), integers("--openml", openml), max_rows, names)
    folder = out or CACHE / "tabular_oof"
    return int(tabular.make(gathered, outer, tuple(families), folder.expanduser(), jobs))


@app.command("digits_networks", cls=Command, context_settings=SETTINGS)
def digits_networks(
    kinds: Annotated[
        str | None, typer.Option(help="Kinds, comma-separated.", show_default="all")
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
) -> int:
    """Train small networks on scikit-learn's digits. This takes seconds.

    Exit status 1 if a network failed.
    """
    from harness.tools.stand_ins import digits_networks as networks

    chosen = select("--kinds", kinds, list(networks.KINDS))
    path = networks.mnist_file()
    if "layers_mnist" in chosen and path is None:
        chosen.remove("layers_mnist")
        print(
            f"  layers_mnist is not made: CALHARNESS_DATA has no file {networks.MNIST}",
            file=sys.stderr,
        )
    trainings = [training for kind in chosen for training in networks.trainings(kind)]
    folder = out or CACHE / networks.FOLDER
    return int(networks.make(trainings, folder.expanduser(), jobs, path))


@app.command("cifar10_networks", cls=Command, context_settings=SETTINGS)
def cifar10_networks(
    seeds: Annotated[str, typer.Option(help="Seeds, comma-separated.")] = "5",
    epochs: Annotated[
        int, typer.Option(min=1, help="Epochs; 250 follow the paper's schedule.")
    ] = 10,
    width: Annotated[
        str | None,
        typer.Option(
            metavar="H",
            help="Train with scores perturbed by this width, such as 2^-6.",
            show_default="no perturbation",
        ),
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="lossless or jpeg.", show_default="lossless if they are there"
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="torch's name of it, cuda for a GPU.")] = "cpu",
    precision: Annotated[
        str | None,
        typer.Option(
            help="Products in training: bfloat16, tf32 or float32.",
            show_default="bfloat16 on a CPU, else float32",
        ),
    ] = None,
    jobs: Jobs = 1,
    out: Out = None,
) -> int:
    """Train PreResNet-20 on CIFAR-10. An epoch takes 1.5 to 3 CPU minutes.

    An interrupted job resumes after its last complete epoch. Exit status 1 if a network failed.
    """
    from harness.tools.stand_ins import cifar10_images
    from harness.tools.stand_ins import cifar10_networks as networks
    from harness.tools.stand_ins.preresnet import Hardware

    h = None if width is None else _width(width)
    kind = cifar10_images.find(images).kind
    wanted = [networks.Training(seed, epochs, h, kind) for seed in integers("--seeds", seeds)]
    folder = out or CACHE / (networks.FOLDER if h is None else networks.PERTURBED_FOLDER)
    hardware = Hardware(device, precision)
    return int(networks.make(wanted, folder.expanduser(), jobs, hardware))


@app.command("cifar10_lenet5", cls=Command, context_settings=SETTINGS)
def cifar10_lenet5(
    seeds: Annotated[str, typer.Option(help="Seeds, comma-separated.")] = "1,2,3,4,5",
    epochs: Annotated[
        int, typer.Option(min=1, max=300, help="Epochs after which the schedule of 300 ends.")
    ] = 300,
    jobs: Jobs = 1,
    out: Out = None,
) -> int:
    """Train LeNet-5 on CIFAR-10. An epoch takes about 4 CPU seconds.

    An interrupted job resumes after its last complete epoch. Exit status 1 if a network failed.
    """
    from harness.tools.stand_ins import cifar10_lenet5 as networks

    wanted = [networks.Training(seed, epochs) for seed in integers("--seeds", seeds)]
    folder = out or CACHE / networks.FOLDER
    return int(networks.make(wanted, folder.expanduser(), jobs))


@app.command("perturbed_networks", cls=Command, context_settings=SETTINGS)
def perturbed_networks(
    tables: Annotated[
        str | None,
        typer.Option(help="Tables, comma-separated.", show_default="all that are available"),
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
) -> int:
    """Train small classifiers with and without perturbed scores. This takes minutes.

    Exit status 1 if a network failed.
    """
    from harness.tools.stand_ins import perturbed_networks as networks

    at_hand = ",".join(name for name in networks.TABLES if networks.is_at_hand(name))
    chosen = select("--tables", at_hand if tables is None else tables, list(networks.TABLES))
    for name in networks.TABLES if tables is None else ():
        if name not in chosen:
            print(
                f"  {name} is left out: CALHARNESS_DATA has no file uci_csv/{name}.csv",
                file=sys.stderr,
            )
    folder = out or CACHE / networks.FOLDER
    return int(networks.make(networks.trainings(chosen), folder.expanduser(), jobs))


@app.command("imagenet_brightness", cls=Command, context_settings=SETTINGS)
def imagenet_brightness(
    images: Annotated[Path, typer.Option(help="Folder of validation images, a folder per class.")],
    networks: Annotated[
        str | None,
        typer.Option(
            help="Networks by their timm names, comma-separated.", show_default="those of the paper"
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="File of weights of a network.", show_default=False),
    ] = None,
    head: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="File (npz) of a network's output layer.", show_default=False
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Let timm download weights.")
    ] = False,
    n: Annotated[int, typer.Option("--n", min=1, help="Number of images.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed that draws the images.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Images per batch.")] = 32,
    device: Annotated[str, typer.Option(help="torch's name of it, cuda for a GPU.")] = "cpu",
    out: Out = None,
) -> int:
    """Predict darker and brighter ImageNet images with networks from timm."""
    from harness.tools.stand_ins import imagenet_brightness as brightness

    names = tuple(brightness.NETWORKS if networks is None else split(networks))
    if not names:
        raise BadInputError("--networks is empty; at least one of timm's names is needed.")
    files = _files("--weights", weights or [], names), _files("--head", head or [], names)
    job = brightness.Job(images.expanduser(), names, *files, n, seed, batch, device, download)
    folder = out or CACHE / brightness.FOLDER
    return int(brightness.make(job, folder.expanduser()))


def select(option: str, text: str | None, allowed: list[str]) -> list[str]:
    """Return the names in a comma-separated text, or all allowed names if `text` is None.

    Raises BadInputError if a name is not allowed or no name is given.
    """
    names = allowed if text is None else split(text)
    unknown = [name for name in names if name not in allowed]
    if unknown or not names:
        raise BadInputError(
            f"{option} has {', '.join(unknown) or 'no name'}; allowed are {', '.join(allowed)}."
        )
    return list(names)


def _table_folders(given: Sequence[Path] | None) -> list[Path]:
    """Return the folders of --csv. Without --csv, return CALHARNESS_DATA/uci_csv if it exists."""
    for folder in given or ():
        if not folder.expanduser().is_dir():
            raise BadInputError(
                f"--csv is {folder}, which does not exist; give a folder of CSV files."
            )
    if given:
        return [folder.expanduser() for folder in given]
    data = os.environ.get("CALHARNESS_DATA")
    default = Path(data or "").expanduser() / "uci_csv"
    return [default] if data and default.is_dir() else []


def _width(text: str) -> float:
    """Parse a width of the perturbation, such as 2^-6 or 0.02."""
    from harness.math.sech_noise import checked_h, parse_width

    try:
        return checked_h(parse_width(text))
    except (ValueError, OverflowError, ZeroDivisionError):
        raise BadInputError(
            f"--width is {text!r}; a positive number is needed, such as 2^-6 or 0.02."
        ) from None


def _files(option: str, texts: Sequence[str], networks: Sequence[str]) -> dict[str, Path]:
    """Parse words of the form NAME=FILE into {network: path}.

    Raises BadInputError if a network is unknown or a file is missing.
    """
    files: dict[str, Path] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if name not in networks:
            raise BadInputError(
                f"{option} is {text!r}; NAME=FILE is needed, where NAME is one of "
                f"{', '.join(networks)}."
            )
        files[name] = Path(path).expanduser()
        if not files[name].is_file():
            raise BadInputError(f"{option} is {text!r}, but there is no file {path!r}.")
    return files
