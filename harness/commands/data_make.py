"""`calharness data make`: stand-ins for files of data that nobody can fetch, made here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.base import SETTINGS, Command
from harness.common.paths import CACHE
from harness.errors import BadInputError
from harness.tools import stand_in

HELP = "Make stand-ins for files of data that nobody can fetch."
app = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS, help=HELP)
Jobs = Annotated[int, typer.Option(help="Worker processes.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder.", show_default="one of its name in the cache")
]


@app.command("tabular_oof", cls=Command, context_settings=SETTINGS)
def tabular_oof(
    csv: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER", help="Folders of tables.", show_default="CALHARNESS_DATA/uci_csv"
        ),
    ] = None,
    openml: Annotated[
        str | None, typer.Option(metavar="ID,...", help="OpenML data sets, downloaded.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Only these tables.")
    ] = None,
    max_rows: Annotated[int, typer.Option(help="Rows taken of a table, at random.")] = 2000,
    folds: Annotated[str, typer.Option(help="Outer folds of 0..9, comma-separated.")] = "0",
    models: Annotated[
        str | None, typer.Option(help="Families of models, comma-separated.", show_default="all")
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
) -> int:
    """Make an offline stand-in for TabRepo: out-of-fold predictions of models trained here. Exit
    status 1 if a task failed."""
    tabular = stand_in("tabular")

    families = list(tabular.FAMILIES) if models is None else names(models)
    unknown = [name for name in families if name not in tabular.FAMILIES]
    if unknown or not families:
        raise BadInputError(
            f"--models has {', '.join(unknown) or 'nothing'}; allowed are {', '.join(tabular.FAMILIES)}."
        )
    chosen = integers("--folds", folds)
    if not chosen or not all(0 <= fold < tabular.OUTER for fold in chosen):
        raise BadInputError(
            f"--folds is {chosen}; integers from 0 to {tabular.OUTER - 1} are needed."
        )
    if max_rows < tabular.SMALLEST_TABLE:
        raise BadInputError(
            f"--max-rows is {max_rows}; at least {tabular.SMALLEST_TABLE} are needed."
        )
    _check_jobs(jobs)
    wanted = names(tables) if tables is not None else None
    found = tabular.gather(_folders(csv), integers("--openml", openml), max_rows, wanted)
    folder = out or CACHE / "tabular_oof"
    return tabular.make(found, chosen, tuple(families), folder.expanduser(), jobs)


@app.command("digits_networks", cls=Command, context_settings=SETTINGS)
def digits_networks(
    kinds: Annotated[
        str | None, typer.Option(help="Kinds, comma-separated.", show_default="all")
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
) -> int:
    """Train small networks on scikit-learn's digits (seconds). Exit status 1 if a network failed."""
    networks = stand_in("digits_networks")

    chosen = list(networks.KINDS) if kinds is None else names(kinds)
    wrong = [kind for kind in chosen if kind not in networks.KINDS]
    if wrong or not chosen:
        raise BadInputError(
            f"--kinds has {', '.join(wrong) or 'nothing'}; allowed are {', '.join(networks.KINDS)}."
        )
    _check_jobs(jobs)
    path = networks.mnist_file()
    if "layers_mnist" in chosen and path is None:
        chosen.remove("layers_mnist")
        print(
            f"  layers_mnist is not made: there is no {networks.MNIST} below CALHARNESS_DATA",
            file=sys.stderr,
        )
    wanted = [one for kind in chosen for one in networks.trainings(kind)]
    return networks.make(wanted, (out or CACHE / networks.FOLDER).expanduser(), jobs, path)


@app.command("perturbed_networks", cls=Command, context_settings=SETTINGS)
def perturbed_networks(
    tables: Annotated[
        str | None, typer.Option(help="Tables, comma-separated.", show_default="those at hand")
    ] = None,
    jobs: Jobs = 2,
    out: Out = None,
) -> int:
    """Train small classifiers with and without perturbed scores (minutes). Exit status 1 if a
    network failed."""
    networks = stand_in("perturbed_networks")

    at_hand = [name for name in networks.TABLES if networks.is_at_hand(name)]
    chosen = at_hand if tables is None else tables.split(",")
    wrong = [name for name in chosen if name not in networks.TABLES]
    if wrong or not chosen:
        raise BadInputError(
            f"--tables has {', '.join(wrong) or 'nothing'}; allowed are {', '.join(networks.TABLES)}."
        )
    _check_jobs(jobs)
    for name in networks.TABLES:
        if name not in chosen and tables is None:
            print(
                f"  {name} is not taken: there is no uci_csv/{name}.csv below CALHARNESS_DATA",
                file=sys.stderr,
            )
    return networks.make(
        networks.trainings(chosen), (out or CACHE / networks.FOLDER).expanduser(), jobs
    )


@app.command("imagenet_brightness", cls=Command, context_settings=SETTINGS)
def imagenet_brightness(
    images: Annotated[Path, typer.Option(help="Folder of validation images, a folder per class.")],
    networks: Annotated[
        str | None,
        typer.Option(help="timm's names, comma-separated.", show_default="those of the paper"),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A network's weights.", show_default=False),
    ] = None,
    head: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A network's classes, an npz.", show_default=False),
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Let timm fetch weights.")] = False,
    n: Annotated[int, typer.Option("--n", min=1, help="Images.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of their draw.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Images at a time.")] = 32,
    device: Annotated[str, typer.Option(help="torch's name of it, cuda for a GPU.")] = "cpu",
    out: Out = None,
) -> int:
    """Judge timm's networks on darker and brighter ImageNet images."""
    brightness = stand_in("imagenet_brightness")

    chosen = tuple(brightness.NETWORKS) if networks is None else tuple(names(networks))
    if not chosen:
        raise BadInputError("--networks is empty; at least one of timm's names is needed.")
    maps = _files("--weights", weights or [], chosen)
    heads = _files("--head", head or [], chosen)
    job = brightness.Job(images.expanduser(), chosen, maps, heads, n, seed, batch, device, download)
    return brightness.make(job, (out or CACHE / brightness.FOLDER).expanduser())


def names(text: str | None) -> list[str]:
    """'a,b' -> ['a', 'b']."""
    return [name for name in (text or "").split(",") if name]


def integers(option: str, text: str | None) -> list[int]:
    """'0,1' -> [0, 1]. Raises BadInputError on anything else."""
    try:
        return [int(number) for number in names(text)]
    except ValueError:
        raise BadInputError(
            f"{option} is {text!r}; a list of integers is needed, such as 0,1."
        ) from None


def _check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise BadInputError(f"--jobs is {jobs}; at least 1 is needed.")


def _folders(given: Sequence[Path] | None) -> list[Path]:
    """Folders of CSV files: those given, else CALHARNESS_DATA/uci_csv where it is there."""
    if given:
        absent = [folder for folder in given if not folder.expanduser().is_dir()]
        if absent:
            raise BadInputError(f"--csv is {absent[0]}, which is no folder.")
        return [folder.expanduser() for folder in given]
    data = os.environ.get("CALHARNESS_DATA")
    default = Path(data).expanduser() / "uci_csv" if data else None
    return [default] if default and default.is_dir() else []


def _files(option: str, texts: Sequence[str], networks: Sequence[str]) -> dict[str, Path]:
    """NAME=FILE, ... -> {name: path}."""
    found: dict[str, Path] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if name not in networks:
            raise BadInputError(
                f"{option} is {text!r}; NAME=FILE is needed with one of {', '.join(networks)} as the name."
            )
        found[name] = Path(path).expanduser()
        if not found[name].is_file():
            raise BadInputError(f"{option} is {text!r}; there is no file {path!r}.")
    return found
