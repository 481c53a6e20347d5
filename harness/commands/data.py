"""`calharness data`: list, fetch and verify files of data. Nothing is downloaded unasked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import completion, data_make
from harness.commands.base import SETTINGS, Command
from harness.common.data_files import sha256
from harness.common.paths import CACHE, EXPERIMENTS
from harness.errors import BadInputError, guess
from harness.sources import packs
from harness.sources.packs import NAME_WIDTH, Pack

HELP = "List, fetch and verify files of data; make stand-ins for them."
app = typer.Typer(rich_markup_mode=None, context_settings=SETTINGS, help=HELP)
app.add_typer(data_make.app, name="make")


@app.command("list", cls=Command, context_settings=SETTINGS)
def list_packs() -> int:
    """Print all packs: size, whether they are there, licence."""
    known = packs.packs()
    for group in dict.fromkeys(pack.group for pack in known.values()):
        print(f"{group}:" if group else "")
        for pack in (pack for pack in known.values() if pack.group == group):
            row = _row(pack.name, pack.bytes, _state(pack), pack.licence)
            print(f"  {row}{pack.path}{_own_checksum(pack)}")
    print("")
    _list_repositories()
    return 0


@app.command("fetch", cls=Command, context_settings=SETTINGS)
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="A pack, a group of packs, or tabrepo.", autocompletion=completion.pack
        ),
    ],
    table1: Annotated[
        bool,
        typer.Option(
            "--table1", help="tabrepo: the tasks that an experiment lists (the default, 2.3 GB)."
        ),
    ] = False,
    datasets: Annotated[
        str | None, typer.Option(help="tabrepo: these data sets, comma-separated.")
    ] = None,
    folds: Annotated[
        str | None, typer.Option(help="tabrepo: these folds, comma-separated, of 0,1,2.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="tabrepo: another server with the same files."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="tabrepo: the folder.", show_default="tabrepo in the cache")
    ] = None,
) -> int:
    """Download one pack or a group of packs below CALHARNESS_DATA.

    \b
    calharness data fetch kull_cifar
    calharness data fetch tabrepo --datasets a,b --folds 0,1,2
    """
    if name == "tabrepo":
        return _fetch_tabrepo(table1, datasets, folds, base, out or CACHE / "tabrepo")
    if table1 or datasets or folds or base or out:
        raise BadInputError(
            f"data fetch {name} takes no options; --table1, --datasets and others are of tabrepo."
        )
    known = packs.packs()
    chosen = _named(known, name)
    if name not in known:
        return packs.fetch_all(chosen, packs.folder())
    print(f"  {packs.fetch(chosen[0], packs.folder())}")
    return 0


@app.command("verify", cls=Command, context_settings=SETTINGS)
def verify(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A pack, a group, tabrepo or tabular_oof; all packs without it.",
            autocompletion=completion.pack,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="tabrepo, tabular_oof: the folder.", show_default="where the problems find it"
        ),
    ] = None,
) -> int:
    """Compare checksums. Exit status 1 if a file is wrong or missing."""
    from harness.sources import tabrepo

    if name in tabrepo.COMMANDS:
        return _verify_repository(str(out or name))
    if out:
        raise BadInputError(
            f"data verify {name or ''} takes no --out; that is of {' and '.join(tabrepo.COMMANDS)}."
        )
    known = packs.packs()
    return packs.verify(
        list(known.values()) if name is None else _named(known, name), packs.folder()
    )


def _fetch_tabrepo(
    table1: bool, datasets: str | None, folds: str | None, base: str | None, out: Path
) -> int:
    """Fetch parts of TabRepo. Returns 1 if a file could not be had or is wrong."""
    from harness.sources import tabrepo_fetch

    tasks = _tasks(table1, data_make.names(datasets), data_make.integers("--folds", folds))
    servers = [base] if base else [tabrepo_fetch.HUB, tabrepo_fetch.STORAGE]
    problems = tabrepo_fetch.fetch(out.expanduser(), tasks, servers)
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
    state = f"{len(problems):,} problems, the same command tries again" if problems else "complete"
    print(f"  {out}: {len(tasks):,} tasks, {state}")
    return int(bool(problems))


def _verify_repository(where: str) -> int:
    """Verify TabRepo or its stand-in. Returns 1 if a file is wrong or missing."""
    from harness.sources import tabrepo, tabrepo_fetch

    held = tabrepo.find(where)
    files, pinned, problems = tabrepo_fetch.verify(held)
    for problem in problems:
        print(f"  {problem}")
    print(
        f"{held.root}: {files:,} files, {pinned:,} of them with a checksum of when they came, {len(problems):,} problems"
    )
    return int(bool(problems))


def _tasks(table1: bool, datasets: Sequence[str], folds: Sequence[int]) -> list[tuple[str, int]]:
    """The (data set, fold) pairs asked for: those of Table 1, or all folds of the data sets named."""
    if datasets and not table1:
        return [(dataset, fold) for dataset in datasets for fold in folds or (0, 1, 2)]
    import pandas as pd

    listed = pd.concat(
        [pd.read_csv(path) for path in sorted(EXPERIMENTS.glob("*/table1_tasks.csv"))]
    )
    pairs = list(dict.fromkeys(zip(listed["dataset"].astype(str), listed["fold"].tolist())))
    for name, wanted, column in (("datasets", datasets, 0), ("folds", folds, 1)):
        unknown = [w for w in wanted if w not in {pair[column] for pair in pairs}]
        if unknown:
            raise BadInputError(f"--{name} has {unknown[0]}, which Table 1 does not.")
    return [(d, f) for d, f in pairs if d in (datasets or [d]) and f in (folds or [f])]


def _list_repositories() -> None:
    """The two repositories of tabular predictions: where they are, or the command that gets them."""
    from harness.sources import tabrepo

    licences = {"tabrepo": "Apache-2.0", "tabular_oof": "made here"}
    for name, command in tabrepo.COMMANDS.items():
        try:
            state, where = "present", str(tabrepo.find(name).root)
        except BadInputError:
            state, where = "absent", f"`{command}`"
        print(f"  {_row(name, None, state, licences[name])}{where}")


def _row(name: str, size: int | None, state: str, licence: str) -> str:
    return f"{name:<{NAME_WIDTH}}{'?' if size is None else f'{size / 1e6:.2f}':>8} MB  {state:<10}{licence:<30}"


def _named(known: dict[str, Pack], name: str) -> list[Pack]:
    """The pack of that name, or the packs of that group."""
    chosen = (
        [known[name]]
        if name in known
        else [pack for pack in known.values() if name and pack.group == name]
    )
    if not chosen:
        groups = ", ".join(dict.fromkeys(pack.group for pack in known.values() if pack.group))
        close = guess(name, [*known, *(pack.group for pack in known.values())])
        raise BadInputError(
            f"there is no pack {name!r}{close}; groups are {groups}, and `calharness data list` shows all packs."
        )
    return chosen


def _own_checksum(pack: Pack) -> str:
    """The checksum of a file that is there and has no published one."""
    return (
        f"  sha256 {sha256(pack.at(packs.folder()))}"
        if pack.sha256 is None and _state(pack) == "present"
        else ""
    )


def _state(pack: Pack) -> str:
    return "present" if pack.is_here else "absent"
