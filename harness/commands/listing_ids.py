"""`calharness list` of problems, estimators, experiments or calibrators."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping

from harness.common.tables import text_table
from harness.configure import catalogue
from harness.configure.options import GROUPS
from harness.configure.rules import as_list
from harness.errors import BadInputError, guess
from harness.estimators.base import EstimatorSpec
from harness.math import estimands
from harness.math.notions import NOTIONS
from harness.plan.components import load
from harness.problems.base import ProblemSpec, members_of

KEYS = {
    "problem": ("notion", "paper"),
    "estimator": ("notion", "estimand", "paper"),
    "experiment": ("paper", "problem", "estimator"),
    "calibrator": ("paper",),
}


def print_counts(names: Mapping[str, str]) -> None:
    """Print the number of ids of each kind; `names` has the groups by kind."""
    rows = []
    for kind, group in names.items():
        listed, variants = catalogue.counts(group)
        hidden = f" shows {listed}; {variants} variants of papers and legacy streams with --all"
        rows.append(
            (kind, listed + variants, f"calharness list {kind}{hidden if variants else ''}")
        )
    rows.append(("papers", len(catalogue.papers()), "calharness list papers"))
    print(text_table(rows, right=[1], indent=0))
    print(
        "\nWords and properties narrow a list "
        "(`calharness list estimators kernel notion=canonical`). --all adds variants of papers. "
        "`calharness info ID` describes an id."
    )


def print_ids(group: str, filters: list[str], everything: bool) -> None:
    """Print a line for each id that all filters match, cut to the width of the terminal.

    Raises BadInputError if there is none, or a filter is wrong.
    """
    filters.sort(key=lambda text: "=" in text)  # words first, as properties are slow to read
    ids = [n for n in catalogue.all_ids(group) if all(_matches(group, n, text) for text in filters)]
    if not ids:
        raise BadInputError(
            f"no {group} matches {' '.join(filters)}; `calharness list {group}s --all` shows all."
        )
    # a variant is shown if it is asked for by its ending
    names = [n for n in ids if everything or catalogue.variant(n) in " ".join(filters)]
    indent = max(map(len, names), default=0) + 2
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for name in names:
        line = f"{name:<{indent}}{catalogue.describe(group, name)}"
        print(line if width is None or len(line) <= width else f"{line[: width - 1]}…")
    if len(names) < len(ids):
        print(
            f"{len(ids) - len(names)} variants of papers and legacy streams are hidden; "
            "--all shows them",
            file=sys.stderr,
        )


def _matches(group: str, name: str, text: str) -> bool:
    """Return True if an id has a word, or a property KEY=VALUE. Raises BadInputError if wrong."""
    key, equals, value = text.partition("=")
    if not equals:
        return text.lower() in f"{name} {catalogue.describe(group, name)}".lower()
    if key not in KEYS[group]:
        allowed = ", ".join(KEYS[group])
        raise BadInputError(
            f"{group}s are not listed by {key!r}{guess(key, KEYS[group])}; allowed are {allowed}."
        )
    if key == "paper":
        _check_value(key, value, catalogue.papers())
        return _belongs_to(group, name, value)
    if key in GROUPS:
        _check_value(key, value, catalogue.all_ids(key))
        return value in _chosen(name, key)
    return _declares(group, name, key, value)


def _check_value(key: str, value: str, allowed: list[str]) -> None:
    if value not in allowed:
        raise BadInputError(
            f"there is no {key} {value!r}{guess(value, allowed)}; allowed are {', '.join(allowed)}."
        )


def _belongs_to(group: str, name: str, paper: str) -> bool:
    """Return True if an id is an item or variant of the paper, or its docstring cites the paper."""
    if group == "experiment":
        return catalogue.config(group, name).get("paper") == paper
    if group == "calibrator":
        return paper in catalogue.docstring(f"harness.calibrators.{name}")
    target = catalogue.config(group, name)["_target_"]
    return paper in f"{name} {target} {catalogue.docstring(target)}"


def _chosen(experiment: str, group: str) -> list[str]:
    """Return the problems or estimators that an experiment names in its defaults."""
    for entry in catalogue.config("experiment", experiment).get("defaults", []):
        if f"override /{group}" in entry:
            return as_list(entry[f"override /{group}"])
    return []


def _declares(group: str, name: str, key: str, value: str) -> bool:
    """Return True if a problem or estimator has a notion or an estimand.

    A family has the notions of its first problem. A problem without its file has none.
    """
    if key == "notion":
        _check_value(key, value, list(NOTIONS))
    else:
        estimands.check_name(value)
    item = load(group, name, {})
    if group == "estimator":
        spec = EstimatorSpec.of(item)
        return value in (spec.notions if key == "notion" else spec.estimands or ())
    try:
        members = members_of(item)
        return value in ProblemSpec.of(next(iter(members.values())) if members else item).notions
    except BadInputError:
        return False
