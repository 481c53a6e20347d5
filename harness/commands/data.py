"""`calharness data`: list, fetch and verify data files.

No other command downloads anything.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import completion
from harness.commands.base import HYDRA_SETTINGS, SETTINGS, Command
from harness.common.arguments import integers, split
from harness.common.paths import CACHE, CHECKOUT
from harness.errors import BadInputError
from harness.sources import packs

HELP = "List, fetch and verify data files, or make stand-ins for them."
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
    from harness.sources import listing

    print(*listing.pack_lines(), sep="\n")
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
        tasks = tabrepo_fetch.choose_tasks(table1, split(datasets), wanted)
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
    chosen = packs.select(name)
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
    chosen = list(packs.packs().values()) if name is None else packs.select(name)
    return packs.verify(chosen, packs.folder())
