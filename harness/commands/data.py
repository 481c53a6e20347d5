"""`calharness data`: list, fetch and verify files of data, and make stand-ins for those that nobody can fetch."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from harness import tools
from harness.common.data_files import sha256
from harness.common.paths import CACHE, EXPERIMENTS
from harness.errors import BadInputError, guess
from harness.sources import packs, tabrepo
from harness.sources.packs import NAME_WIDTH, Pack, fetch, fetch_all, folder, verify

MADE = ("tabular_oof", "digits_networks", "perturbed_networks", "imagenet_brightness")


class Options(argparse.ArgumentParser):
    """argparse, with its mistakes told as the rest of the command line tells them."""

    def __init__(self, command: str, description: str | None = None):
        super().__init__(
            prog=f"calharness data {command}", description=description, formatter_class=argparse.RawTextHelpFormatter
        )

    def error(self, message):
        raise BadInputError(f"{self.prog}: {message}; --help shows the options.")

    def parsed(self, arguments: list[str]):
        """The parsed options, or None after --help."""
        try:
            return self.parse_args(arguments)
        except SystemExit:
            return None


def command(arguments: list[str]) -> int:
    """`calharness data list | fetch NAME | verify [NAME] | make NAME`; a NAME is a pack or a group of packs."""
    (first, second), rest = [*arguments, "", ""][:2], arguments[2:]
    if (first, second) == ("fetch", "tabrepo"):
        return fetch_tabrepo(rest)
    if first == "verify" and second in tabrepo.COMMANDS:
        return verify_repository(second, rest)
    if first == "make" and second in MADE:
        return {
            "tabular_oof": make_tabular_oof, "digits_networks": make_digits_networks,
            "perturbed_networks": make_perturbed_networks, "imagenet_brightness": make_imagenet_brightness,
        }[second](rest)  # fmt: skip
    known = packs.packs()
    if arguments[:1] == ["list"] and len(arguments) == 1:
        for group in dict.fromkeys(pack.group for pack in known.values()):
            print(f"{group}:" if group else "")
            for pack in (pack for pack in known.values() if pack.group == group):
                print(f"  {_row(pack.name, pack.bytes, _state(pack), pack.licence)}{pack.path}{_own_checksum(pack)}")
        print("")
        _list_repositories()
        return 0
    if arguments[:1] == ["fetch"] and len(arguments) == 2:
        chosen = _named(known, arguments[1])
        if arguments[1] not in known:
            return fetch_all(chosen, folder())
        print(f"  {fetch(chosen[0], folder())}")
        return 0
    if arguments[:1] == ["verify"] and len(arguments) <= 2:
        return verify(_named(known, arguments[1]) if len(arguments) == 2 else list(known.values()), folder())
    allowed = f"data list, data fetch NAME, data verify [NAME], data make {'|'.join(MADE)}"
    raise BadInputError(f"data {' '.join(arguments)} is not a command; allowed are {allowed}.")


def _list_repositories():
    """The two repositories of tabular predictions: where they are, or the command that gets them."""
    licences = {"tabrepo": "Apache-2.0", "tabular_oof": "made here"}
    for name, command in tabrepo.COMMANDS.items():
        try:
            state, where = "present", tabrepo.find(name).root
        except BadInputError:
            state, where = "absent", f"`{command}`"
        print(f"  {_row(name, None, state, licences[name])}{where}")


def _row(name, size, state, licence):
    return f"{name:<{NAME_WIDTH}}{'?' if size is None else f'{size / 1e6:.2f}':>8} MB  {state:<10}{licence:<30}"


def _named(known, name) -> list[Pack]:
    """The pack of that name, or the packs of that group."""
    chosen = [known[name]] if name in known else [pack for pack in known.values() if name and pack.group == name]
    if not chosen:
        groups = ", ".join(dict.fromkeys(pack.group for pack in known.values() if pack.group))
        close = guess(name, [*known, *(pack.group for pack in known.values())])
        raise BadInputError(f"there is no pack {name!r}{close}; groups are {groups}, and `calharness data list` shows all packs.")
    return chosen


def _own_checksum(pack):
    """The checksum of a file that is there and has no published one."""
    return f"  sha256 {sha256(pack.at(folder()))}" if pack.sha256 is None and _state(pack) == "present" else ""


def _state(pack):
    return "present" if pack.is_here else "absent"


def fetch_tabrepo(arguments: list[str]) -> int:
    """`calharness data fetch tabrepo`; 1 if a file could not be had or is wrong."""
    from harness.sources import tabrepo_fetch

    options = Options("fetch tabrepo", tabrepo_fetch.__doc__)
    options.add_argument("--table1", action="store_true", help="the tasks that an experiment lists (the default, 2.3 GB)")
    options.add_argument("--datasets", type=_names, help="these data sets, comma-separated")
    options.add_argument("--folds", type=_integers, help="these folds, comma-separated, of 0,1,2")
    options.add_argument("--from", dest="base", metavar="URL", help="another server with the same files")
    options.add_argument("--out", type=Path, default=CACHE / "tabrepo", help="folder (default: %(default)s)")
    chosen = options.parsed(arguments)
    if chosen is None:
        return 0
    tasks = _tasks(chosen.table1, chosen.datasets, chosen.folds)
    problems = tabrepo_fetch.fetch(
        chosen.out.expanduser(), tasks, [chosen.base] if chosen.base else [tabrepo_fetch.HUB, tabrepo_fetch.STORAGE]
    )
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
    state = f"{len(problems):,} problems, the same command tries again" if problems else "complete"
    print(f"  {chosen.out}: {len(tasks):,} tasks, {state}")
    return int(bool(problems))


def _tasks(table1, datasets, folds):
    """The (data set, fold) pairs asked for: those of Table 1, or all folds of the data sets named."""
    if datasets and not table1:
        return [(dataset, fold) for dataset in datasets for fold in folds or (0, 1, 2)]
    import pandas as pd

    listed = pd.concat([pd.read_csv(path) for path in sorted(EXPERIMENTS.glob("*/table1_tasks.csv"))])
    pairs = list(dict.fromkeys(zip(listed["dataset"].astype(str), listed["fold"].tolist())))
    for name, wanted, column in (("datasets", datasets, 0), ("folds", folds, 1)):
        unknown = [w for w in wanted or () if w not in {pair[column] for pair in pairs}]
        if unknown:
            raise BadInputError(f"--{name} has {unknown[0]}, which Table 1 does not.")
    return [(d, f) for d, f in pairs if d in (datasets or [d]) and f in (folds or [f])]


def verify_repository(name: str, arguments: list[str]) -> int:
    """`calharness data verify tabrepo|tabular_oof`; 1 if a file is wrong or missing."""
    from harness.sources import tabrepo_fetch

    options = Options(f"verify {name}")
    options.add_argument("--out", type=Path, help="folder (default: where the problems find it)")
    chosen = options.parsed(arguments)
    if chosen is None:
        return 0
    held = tabrepo.find(str(chosen.out or name))
    files, pinned, problems = tabrepo_fetch.verify(held)
    for problem in problems:
        print(f"  {problem}")
    print(f"{held.root}: {files:,} files, {pinned:,} of them with a checksum of when they came, {len(problems):,} problems")
    return int(bool(problems))


def make_tabular_oof(arguments: list[str]) -> int:
    """`calharness data make tabular_oof`; 1 if a task failed."""
    tabular = tools.stand_in("tabular")

    options = Options("make tabular_oof", tabular.__doc__)
    options.add_argument("--csv", action="append", type=Path, metavar="FOLDER", help="tables (default: CALHARNESS_DATA/uci_csv)")
    options.add_argument("--openml", type=_integers, default=[], metavar="ID,...", help="OpenML data sets, downloaded")
    options.add_argument("--tables", type=_names, metavar="NAME,...", help="only these tables")
    options.add_argument("--max-rows", type=int, default=2000, help="rows taken of a table, at random (default: %(default)s)")
    options.add_argument("--folds", type=_integers, default=[0], help="outer folds of 0..9 (default: 0)")
    options.add_argument(
        "--models", type=_names, default=list(tabular.FAMILIES), help=f"of {','.join(tabular.FAMILIES)} (default: all)"
    )
    options.add_argument("--jobs", type=int, default=2, help="worker processes (default: %(default)s)")
    options.add_argument("--out", type=Path, default=CACHE / "tabular_oof", help="folder (default: %(default)s)")
    chosen = options.parsed(arguments)
    if chosen is None:
        return 0
    _check_tabular(chosen, tabular)
    tables = tabular.gather(_folders(chosen.csv), chosen.openml, chosen.max_rows, chosen.tables)
    return tabular.make(tables, chosen.folds, tuple(chosen.models), chosen.out.expanduser(), chosen.jobs)


def _check_tabular(chosen, tabular):
    unknown = [name for name in chosen.models if name not in tabular.FAMILIES]
    if unknown or not chosen.models:
        raise BadInputError(f"--models has {', '.join(unknown) or 'nothing'}; allowed are {', '.join(tabular.FAMILIES)}.")
    if not chosen.folds or not all(0 <= fold < tabular.OUTER for fold in chosen.folds):
        raise BadInputError(f"--folds is {chosen.folds}; integers from 0 to {tabular.OUTER - 1} are needed.")
    if chosen.max_rows < tabular.SMALLEST_TABLE:
        raise BadInputError(f"--max-rows is {chosen.max_rows}; at least {tabular.SMALLEST_TABLE} are needed.")
    if chosen.jobs < 1:
        raise BadInputError(f"--jobs is {chosen.jobs}; at least 1 is needed.")


def _folders(given):
    """Folders of CSV files: those given, else CALHARNESS_DATA/uci_csv where it is there."""
    if given:
        absent = [folder for folder in given if not folder.expanduser().is_dir()]
        if absent:
            raise BadInputError(f"--csv is {absent[0]}, which is no folder.")
        return [folder.expanduser() for folder in given]
    data = os.environ.get("CALHARNESS_DATA")
    default = Path(data).expanduser() / "uci_csv" if data else None
    return [default] if default and default.is_dir() else []


def make_digits_networks(arguments: list[str]) -> int:
    """`calharness data make digits_networks`; 1 if a network failed."""
    digits_networks = tools.stand_in("digits_networks")

    options = Options("make digits_networks", digits_networks.__doc__)
    options.add_argument("--kinds", default=",".join(digits_networks.KINDS), help="comma-separated (default: %(default)s)")
    options.add_argument("--jobs", type=int, default=2, help="worker processes (default: %(default)s)")
    options.add_argument("--out", type=Path, default=CACHE / digits_networks.FOLDER, help="folder (default: %(default)s)")
    chosen = options.parsed(arguments)
    if chosen is None:
        return 0
    kinds = [kind for kind in chosen.kinds.split(",") if kind]
    wrong = [kind for kind in kinds if kind not in digits_networks.KINDS]
    if wrong or not kinds:
        raise BadInputError(f"--kinds has {', '.join(wrong) or 'nothing'}; allowed are {', '.join(digits_networks.KINDS)}.")
    if chosen.jobs < 1:
        raise BadInputError(f"--jobs is {chosen.jobs}; at least 1 is needed.")
    path = digits_networks.mnist_file()
    if "layers_mnist" in kinds and path is None:
        kinds.remove("layers_mnist")
        print(f"  layers_mnist is not made: there is no {digits_networks.MNIST} below CALHARNESS_DATA", file=sys.stderr)
    wanted = [one for kind in kinds for one in digits_networks.trainings(kind)]
    return digits_networks.make(wanted, chosen.out.expanduser(), chosen.jobs, path)


def make_perturbed_networks(arguments: list[str]) -> int:
    """`calharness data make perturbed_networks`; 1 if a network failed."""
    perturbed_networks = tools.stand_in("perturbed_networks")

    options = Options("make perturbed_networks", perturbed_networks.__doc__)
    options.add_argument("--tables", default=None, help=f"of {','.join(perturbed_networks.TABLES)} (default: those at hand)")
    options.add_argument("--jobs", type=int, default=2, help="worker processes (default: %(default)s)")
    options.add_argument("--out", type=Path, default=CACHE / perturbed_networks.FOLDER, help="folder (default: %(default)s)")
    chosen = options.parsed(arguments)
    if chosen is None:
        return 0
    names = (
        [name for name in perturbed_networks.TABLES if perturbed_networks.is_at_hand(name)]
        if chosen.tables is None
        else chosen.tables.split(",")
    )
    wrong = [name for name in names if name not in perturbed_networks.TABLES]
    if wrong or not names:
        raise BadInputError(f"--tables has {', '.join(wrong) or 'nothing'}; allowed are {', '.join(perturbed_networks.TABLES)}.")
    if chosen.jobs < 1:
        raise BadInputError(f"--jobs is {chosen.jobs}; at least 1 is needed.")
    for name in perturbed_networks.TABLES:
        if name not in names and chosen.tables is None:
            print(f"  {name} is not taken: there is no uci_csv/{name}.csv below CALHARNESS_DATA", file=sys.stderr)
    return perturbed_networks.make(perturbed_networks.trainings(names), chosen.out.expanduser(), chosen.jobs)


def make_imagenet_brightness(arguments: list[str]) -> int:
    """`calharness data make imagenet_brightness`."""
    imagenet_brightness = tools.stand_in("imagenet_brightness")

    options = Options("make imagenet_brightness", imagenet_brightness.__doc__)
    options.add_argument("--images", type=Path, required=True, help="folder of validation images, a folder per class")
    options.add_argument("--networks", default=",".join(imagenet_brightness.NETWORKS), help="timm's names (default: %(default)s)")
    options.add_argument("--weights", action="append", default=[], metavar="NAME=FILE", help="a network's weights")
    options.add_argument("--head", action="append", default=[], metavar="NAME=FILE", help="a network's classes, an npz")
    options.add_argument("--download", action="store_true", help="let timm fetch weights")
    options.add_argument("--n", type=int, default=1000, help="images (default: %(default)s)")
    options.add_argument("--seed", type=int, default=0, help="of their draw (default: %(default)s)")
    options.add_argument("--batch", type=int, default=32, help="images at a time (default: %(default)s)")
    options.add_argument("--device", default="cpu", help="torch's name of it, cuda for a GPU (default: %(default)s)")
    options.add_argument("--out", type=Path, default=CACHE / imagenet_brightness.FOLDER, help="folder (default: %(default)s)")
    given = options.parsed(arguments)
    if given is None:
        return 0
    if given.n < 1 or given.batch < 1 or given.seed < 0:
        raise BadInputError(f"--n, --batch, --seed are {given.n}, {given.batch}, {given.seed}; at least 1, 1 and 0 are needed.")
    networks = tuple(name for name in given.networks.split(",") if name)
    if not networks:
        raise BadInputError("--networks is empty; at least one of timm's names is needed.")
    files = [_files(option, texts, networks) for option, texts in (("--weights", given.weights), ("--head", given.head))]
    job = imagenet_brightness.Job(
        given.images.expanduser(), networks, *files, given.n, given.seed, given.batch, given.device, given.download
    )
    return imagenet_brightness.make(job, given.out.expanduser())


def _files(option, texts, networks):
    """NAME=FILE, ... -> {name: path}."""
    found = {}
    for text in texts:
        name, _, path = text.partition("=")
        if name not in networks:
            raise BadInputError(f"{option} is {text!r}; NAME=FILE is needed with one of {', '.join(networks)} as the name.")
        found[name] = Path(path).expanduser()
        if not found[name].is_file():
            raise BadInputError(f"{option} is {text!r}; there is no file {path!r}.")
    return found


def _names(text):
    return [name for name in text.split(",") if name]


def _integers(text):
    try:
        return [int(number) for number in _names(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of integers such as 0,1") from None
