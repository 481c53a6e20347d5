"""`calharness data`: list, fetch and verify data files.

No other command downloads anything.
"""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import completion
from harness.commands.base import HYDRA_SETTINGS, SETTINGS, Command, integers, split
from harness.common.data_files import sha256
from harness.common.paths import CACHE, CHECKOUT, EXPERIMENTS
from harness.errors import BadInputError, guess
from harness.sources import packs
from harness.sources.packs import NAME_WIDTH, Pack

HELP = "List, fetch and verify data files, or make stand-ins for them."
LICENCES = {"tabrepo": "Apache-2.0", "tabular_oof": "made here"}  # {repository: licence}
app = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS, help=HELP)


def needs_checkout(words: Annotated[list[str] | None, typer.Argument()] = None) -> int:
    """Make stand-ins for data files that cannot be downloaded. This needs a Git checkout."""
    raise BadInputError(
        "data make needs a Git checkout of the repository; run it there, and give the output "
        "folder by --out."
    )


if CHECKOUT and (CHECKOUT / "tools").is_dir():
    app.add_typer(importlib.import_module("harness.tools.stand_ins.command").app, name="make")
else:
    app.command("make", cls=Command, context_settings=HYDRA_SETTINGS)(needs_checkout)


@app.command("list", cls=Command, context_settings=SETTINGS)
def list_packs() -> int:
    """Print all packs with their size, state, licence and path."""
    from harness.sources import tabrepo

    known = packs.packs().values()
    for group in dict.fromkeys(pack.group for pack in known):
        print(f"{group}:" if group else "")
        for pack in known:
            if pack.group == group:
                state = "present" if pack.is_here else "absent"
                checksum = ""
                if pack.is_here and pack.sha256 is None:
                    checksum = f"  sha256 {sha256(pack.path_below(packs.folder()))}"
                row = _row(pack.name, pack.bytes, state, pack.licence)
                print(f"{row}{pack.path}{checksum}")
    print()
    for name, command in tabrepo.COMMANDS.items():
        try:
            state, where = "present", str(tabrepo.find(name).root)
        except BadInputError:
            state, where = "absent", f"`{command}`"
        print(f"{_row(name, None, state, LICENCES[name])}{where}")
    return 0


@app.command("fetch", cls=Command, context_settings=SETTINGS)
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a pack or of a group of packs, or tabrepo.",
            autocompletion=completion.pack,
        ),
    ],
    table1: Annotated[
        bool,
        typer.Option(
            "--table1", help="tabrepo: all tasks of Table 1 (this is the default; 2.3 GB)."
        ),
    ] = False,
    datasets: Annotated[
        str | None, typer.Option(help="tabrepo: only these data sets, separated by commas.")
    ] = None,
    folds: Annotated[
        str | None,
        typer.Option(help="tabrepo: only these folds among 0, 1, 2, separated by commas."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="tabrepo: a server with the same files."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="tabrepo: folder of the files.", show_default="tabrepo in the cache"),
    ] = None,
) -> int:
    """Download a pack or a group of packs into the folder that CALHARNESS_DATA names.

    \b
    calharness data fetch kull_cifar
    calharness data fetch tabrepo --datasets a,b --folds 0,1,2
    """
    if name == "tabrepo":
        from harness.sources import tabrepo_fetch

        wanted = integers("--folds", folds)
        tasks = tabrepo_tasks(table1, split(datasets), wanted)
        servers = [base] if base else [tabrepo_fetch.HUB, tabrepo_fetch.STORAGE]
        folder = out or CACHE / "tabrepo"
        problems = tabrepo_fetch.fetch(folder.expanduser(), tasks, servers)
        for problem in problems:
            print(f"  {problem}", file=sys.stderr)
        retry = f"{len(problems):,} problems; the same command tries these files again"
        print(f"  {folder}: {len(tasks):,} tasks, {retry if problems else 'complete'}")
        return int(bool(problems))
    if table1 or datasets or folds or base or out:
        raise BadInputError(
            f"data fetch {name} takes no options (only data fetch tabrepo does); leave them out."
        )
    chosen = _select(name)
    if [pack.name for pack in chosen] != [name]:
        return packs.fetch_all(chosen, packs.folder())
    print(f"  {packs.fetch(chosen[0], packs.folder())}")
    return 0


@app.command("verify", cls=Command, context_settings=SETTINGS)
def verify(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name of a pack or group of packs, tabrepo or tabular_oof. Default: all packs.",
            autocompletion=completion.pack,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="tabrepo, tabular_oof: folder of the files.",
            show_default="the folder that problems use",
        ),
    ] = None,
) -> int:
    """Compare data files with their checksums.

    Exit status 1 if a file is wrong or missing.
    """
    from harness.sources import tabrepo, tabrepo_fetch

    if name in tabrepo.COMMANDS:
        repository = tabrepo.find(str(out or name))
        files, pinned, problems = tabrepo_fetch.verify(repository)
        for problem in problems:
            print(f"  {problem}")
        print(
            f"{repository.root}: {files:,} files, {pinned:,} of them with a checksum from their "
            f"download, {len(problems):,} problems"
        )
        return int(bool(problems))
    if out:
        raise BadInputError(
            f"--out is given, but it is only for {' and '.join(tabrepo.COMMANDS)}; leave it out."
        )
    chosen = list(packs.packs().values()) if name is None else _select(name)
    return packs.verify(chosen, packs.folder())


def tabrepo_tasks(table1: bool, datasets: list[str], folds: list[int]) -> list[tuple[str, int]]:
    """Return the tasks of TabRepo to fetch, as pairs (data set, fold).

    With `table1`, or without `datasets`, they are the tasks of Table 1. If `datasets` or `folds`
    are given, other data sets or folds are left out.

    With `datasets` and without `table1`, they are all folds of these data sets, or those in
    `folds`.
    """
    if datasets and not table1:
        return [(dataset, fold) for dataset in datasets for fold in folds or (0, 1, 2)]
    listed: dict[tuple[str, int], None] = {}  # ordered, each once
    for path in sorted(EXPERIMENTS.glob("*/table1_tasks.csv")):
        with path.open(encoding="utf-8") as file:
            listed |= {(row["dataset"], int(row["fold"])): None for row in csv.DictReader(file)}
    for position, option, chosen in ((0, "--datasets", datasets), (1, "--folds", folds)):
        unknown = [name for name in chosen if name not in {task[position] for task in listed}]
        if unknown:
            raise BadInputError(
                f"{option} has {unknown[0]}, which is not in Table 1; correct it, or leave out "
                "--table1."
            )
    return [
        (dataset, fold)
        for dataset, fold in listed
        if (not datasets or dataset in datasets) and (not folds or fold in folds)
    ]


def _row(name: str, size: int | None, state: str, licence: str) -> str:
    megabytes = "?" if size is None else f"{size / 1e6:.2f}"
    return f"  {name:<{NAME_WIDTH}}{megabytes:>8} MB  {state:<10}{licence:<30}"


def _select(name: str) -> list[Pack]:
    """Return the pack called `name`, or all packs of the group called `name`."""
    known = packs.packs()
    if name in known:
        return [known[name]]
    chosen = [pack for pack in known.values() if name and pack.group == name]
    if not chosen:
        groups = list(dict.fromkeys(pack.group for pack in known.values() if pack.group))
        raise BadInputError(
            f"there is no pack {name!r}{guess(name, [*known, *groups])}; "
            f"groups are {', '.join(groups)}, and `calharness data list` shows all packs."
        )
    return chosen
