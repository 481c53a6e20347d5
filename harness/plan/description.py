"""Print the description of an id, for `calharness info`."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.calibrators.base import CalibratorSpec
from harness.common.paths import CACHE
from harness.common.tables import text_table
from harness.common.wording import format_count
from harness.configure import catalogue, options
from harness.configure.compose import compose
from harness.configure.options import GROUPS
from harness.configure.rules import as_list
from harness.errors import BadInputError, guess
from harness.estimators.base import EstimatorSpec
from harness.math import estimands
from harness.plan import components, documentation
from harness.plan import plan as planning
from harness.problems import maps
from harness.problems.base import ProblemSpec, find_truth, list_members

HEAD = ("parameter", "value", "default", "type", "meaning")
# {group: (class that reads declared properties, properties that are printed)}
PROPERTIES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "problem": (ProblemSpec, ("classes", "notions", "default_n", "default_reps", "version")),
    "estimator": (
        EstimatorSpec,
        ("notions", "estimands", "determinism", "max_n", "max_classes", "revision"),
    ),
    "calibrator": (CalibratorSpec, ("determinism", "max_n", "max_classes")),
}


def describe(name: str) -> None:
    """Print the description of an id or of a class: docstrings, parameters, properties, truths.

    Raise BadInputError if `name` is neither an id nor module.Class.
    """
    name = name.removeprefix("harness.calibrators.")
    group = next((g for g in (*GROUPS, "calibrator") if name in catalogue.all_ids(g)), None)
    if group is None and inspect.isclass(getattr(maps, name, None)):
        _describe_map(name)
        return
    if group is None and "." in name and "=" not in name:
        print(f"{name}\n")
        node: dict[str, Any] = {"_target_": name}
        item = components.build("estimator", name.rpartition(".")[2], node)
        _describe("problem" if hasattr(item, "sample") else "estimator", item, node, {})
        return
    if group is None:
        raise BadInputError(
            f"there is no {name!r}{guess(name, catalogue.any_id())}; "
            "`calharness list problems|estimators|experiments|calibrators` shows all ids, "
            "and a class of your own is written module.Class."
        )
    print(f"{group} {name}\n")
    if group != "calibrator":
        print(f"{options.text(group, name)}\n")
    if group == "experiment":
        _describe_experiment(name)
    else:
        meanings = {} if group == "calibrator" else options.option(group, name).meaning
        _describe(group, *documentation.build_object(group, name), meanings)


def _describe_map(name: str) -> None:
    """Print the docstring of a calibration map and its parameters, which problems can set."""
    kind = getattr(maps, name)
    print(f"map {name} (of problems, as problem.ID.map)\n\n{inspect.getdoc(kind)}\n")
    if any(f.default is f.default_factory is dataclasses.MISSING for f in dataclasses.fields(kind)):
        return  # it cannot be built without values
    for part in documentation.document_object(
        kind(), {"_target_": f"harness.problems.maps.{name}"}, {}
    ):
        if part.rows:
            print(f"{text_table(part.rows, head=HEAD)}\n")


def _describe(group: str, item: Any, node: dict[str, Any], meanings: dict[str, str]) -> None:
    """Print docstrings, parameters and declared properties of an object; for a problem, its truths.

    `node` is the configuration of the object, and `meanings` is {parameter: explanation}.
    """
    for part in documentation.document_object(item, node, meanings):
        print(f"{part.path}{part.title}: {part.doc or 'no docstring'}\n")
        if part.rows:
            print(f"{text_table(part.rows, head=HEAD)}\n")
    try:
        ids = list(list_members(item) or ())
        if ids:
            ends = ids[0] if len(ids) == 1 else f"from {ids[0]} to {ids[-1]}"
            print(f"{format_count(len(ids), 'problem')}, {ends}")
            return
        reader, attributes = PROPERTIES[group]
        spec = reader.of(item)
        for attribute in attributes:
            value = getattr(spec, attribute)
            if value is not None:
                text = ", ".join(map(str, value)) if isinstance(value, tuple) else value
                print(f"{attribute:<14}{text}")
        for notion in spec.default_notions if group == "problem" else ():
            for name in estimands.names(notion):
                truth = find_truth(item, name, notion)
                if truth is not None:
                    value = f"{truth.value:.10g} ± {truth.error:.1g}"
                    print(f"{notion:<10} {name:<24} {value}  {truth.method}")
    except BadInputError as error:  # the file of a problem is absent
        print(error)


def _describe_experiment(name: str) -> None:
    settings = compose([f"experiment={name}"])
    reasons = Counter[str]()
    try:
        plan = planning.plan(settings)
        reasons.update(plan.skips.values())
        runnable = len(plan.cells) - len(plan.skips)
        cells = (
            f"{len(plan.cells):,}, of which {runnable:,} run here "
            f"and {len(plan.skips):,} are skipped"
        )
    except BadInputError as error:  # the files of a family of problems are absent
        cells = str(error)
    rows = [
        ("title", settings.title or ""),
        ("problems", ", ".join(settings.problem)),
        ("estimators", ", ".join(settings.estimator)),
    ]
    for label in ("n", "reps", "notion"):
        values = as_list(getattr(settings, label))
        rows.append((label, ", ".join(map(str, values)) or "the problem's default"))
    if settings.paper:
        items = ", ".join(settings.compare or [])
        rows.append(("paper", f"{settings.paper}, compared with {items} of its reported numbers"))
    rows.append(("cells", cells))
    rows += [("", f"{count:,} cells: {reason}") for reason, count in reasons.most_common()]
    for path in dict.fromkeys(_paths(settings.problem)):
        rows.append(("file", f"{path} ({_state(path)})"))
    rows.append(("run", f"calharness experiment={name}"))
    print(text_table(rows, indent=0))


def _state(path: str) -> str:
    folders = [Path.cwd(), CACHE, Path(os.environ.get("CALHARNESS_DATA", ".")).expanduser()]
    return "present" if any((folder / path).exists() for folder in folders) else "absent"


def _paths(node: Any) -> Iterator[str]:
    """Yield the paths of all files and folders that a configuration of problems names."""
    children = node if isinstance(node, list) else []
    if isinstance(node, dict):
        path = node.get("path") or node.get("folder")
        if isinstance(path, str):
            yield path
        children = list(node.values())
    for child in children:
        yield from _paths(child)
