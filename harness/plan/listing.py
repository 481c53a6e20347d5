"""Print ids of problems, estimators, experiments or calibrators, for `calharness list`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from harness.common.tables import line_width, text_table
from harness.configure import catalogue
from harness.configure.rules import as_list
from harness.errors import BadInputError, guess

if TYPE_CHECKING:
    from harness.estimators.base import EstimatorSpec


def print_counts(names: Mapping[str, str]) -> None:
    """Print the number of ids of each kind. `names` is {plural noun of the kind: group}."""
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
    """Print one line for each id that matches all filters, cut to `line_width`.

    `everything` includes variants of papers. Raise BadInputError if no id matches, or if a filter
    is wrong.
    """
    filters.sort(key=lambda text: "=" in text)  # words first, because properties are slow to read
    ids = [n for n in catalogue.all_ids(group) if all(_matches(group, n, text) for text in filters)]
    if not ids:
        raise BadInputError(
            f"no {group} matches {' '.join(filters)}; `calharness list {group}s --all` shows all."
        )
    # A variant is also shown if a filter contains its ending.
    names = [n for n in ids if everything or catalogue.variant(n) in " ".join(filters)]
    indent = max(map(len, names), default=0) + 2
    width = line_width()
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
    """Return True if an id matches a filter: a word in its description, or KEY=VALUE.

    Raise BadInputError if the group has no such KEY.
    """
    key, equals, value = text.partition("=")
    if not equals:
        return text.lower() in f"{name} {catalogue.describe(group, name)}".lower()
    properties = PROPERTIES[group]
    if key not in properties:
        raise BadInputError(
            f"{group}s cannot be filtered by {key!r}{guess(key, list(properties))}; "
            f"allowed are {', '.join(properties)}."
        )
    return value in properties[key](name)


def _papers(group: str, name: str) -> list[str]:
    """Return the ids of the papers that an id belongs to.

    These are papers whose id occurs in the id itself, in its class path, or in its docstring.
    """
    if group == "calibrator":
        target = catalogue.calibrators()[name]
    else:
        target = catalogue.config(group, name)["_target_"]
    text = f"{name} {target} {catalogue.docstring(target)}"
    return [paper for paper in catalogue.papers() if paper in text]


def _chosen(group: str, experiment: str) -> list[str]:
    """Return the problems or estimators that the file of an experiment chooses."""
    for entry in catalogue.config("experiment", experiment).get("defaults", []):
        if f"override /{group}" in entry:
            return as_list(entry[f"override /{group}"])
    return []


def _notions_of_problem(name: str) -> tuple[str, ...]:
    """Return the notions of a problem. For a family, return those of its first member.

    Return () if the file of the problem is absent.
    """
    from harness.plan.components import load
    from harness.problems.base import ProblemSpec, list_members  # slow to import

    problem = load("problem", name, {})
    try:
        members = list_members(problem)
        return ProblemSpec.of(next(iter(members.values())) if members else problem).notions
    except BadInputError:
        return ()


def _spec_of_estimator(name: str) -> EstimatorSpec:
    from harness.estimators.base import EstimatorSpec  # slow to import
    from harness.plan.components import load

    return EstimatorSpec.of(load("estimator", name, {}))


# {group: {KEY of a filter KEY=VALUE: function from an id to its values}}
PROPERTIES: dict[str, dict[str, Callable[[str], Collection[str]]]] = {
    "problem": {"notion": _notions_of_problem, "paper": partial(_papers, "problem")},
    "estimator": {
        "notion": lambda name: _spec_of_estimator(name).notions,
        "estimand": lambda name: _spec_of_estimator(name).estimands or (),
        "paper": partial(_papers, "estimator"),
    },
    "experiment": {
        "paper": lambda name: as_list(catalogue.config("experiment", name).get("paper")),
        "problem": partial(_chosen, "problem"),
        "estimator": partial(_chosen, "estimator"),
    },
    "calibrator": {"paper": partial(_papers, "calibrator")},
}
