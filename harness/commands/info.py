"""`calharness info`: what an id is."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.commands import completion
from harness.common.tables import text_table
from harness.configure import catalogue, options
from harness.configure.options import GROUPS
from harness.errors import BadInputError, guess

HEAD = ("parameter", "value", "default", "type", "meaning")
SHOWN = {
    "problem": ("classes", "notions", "default_n", "default_reps", "version"),
    "estimator": ("notions", "estimands", "determinism", "max_n", "max_classes", "revision"),
    "calibrator": ("determinism", "max_n", "max_classes"),
}


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID", autocompletion=completion.any_id, help="An id, or module.Class."
        ),
    ],
) -> int:
    """Print what a problem, estimator, experiment or calibrator is.

    \b
    calharness info kde              docstring, every parameter with its default, notions, estimands
    calharness info beta_wavy        and its true calibration errors
    calharness info berta2026_fig1   problems, estimators, number of cells, files it needs
    calharness info my_module.Mine   an own class
    """
    name = name.removeprefix("harness.calibrators.")
    group = next((g for g in (*GROUPS, "calibrator") if name in catalogue.every(g)), None)
    if group is None and "." in name and "=" not in name:
        return _own(name)
    if group is None:
        every = [i for g in (*GROUPS, "calibrator") for i in catalogue.every(g)]
        what = "`calharness list problems|estimators|experiments|calibrators` shows all"
        raise BadInputError(
            f"there is no {name!r}{guess(name, every)}; {what}, and an own class is module.Class."
        )
    print(f"{group} {name}\n")
    if group != "calibrator":
        print(f"{options.text(group, name)}\n")
    if group == "experiment":
        _experiment(name)
    else:
        from harness.plan.parts import made_of

        _describe(
            group,
            *made_of(group, name),
            {} if group == "calibrator" else options.option(group, name).meaning,
        )
    return 0


def _own(target: str) -> int:
    """Describe a class or function by its dotted path: a stranger's, or one of ours."""
    from harness.plan.components import build

    made = build("estimator", target.rpartition(".")[2], {"_target_": target})
    print(f"{target}\n")
    _describe("problem" if hasattr(made, "sample") else "estimator", made, {"_target_": target})
    return 0


def _describe(
    group: str, made: Any, node: dict[str, Any], comments: dict[str, str] | None = None
) -> None:
    """Print docstring and parameters of an object, what it declares, and its truths if it is a problem."""
    _print_parts(made, node, comments or {})
    from harness.calibrators.base import CalibratorSpec
    from harness.estimators.base import EstimatorSpec
    from harness.problems.base import ProblemSpec, members_of

    specs: dict[str, Any] = {
        "problem": ProblemSpec,
        "estimator": EstimatorSpec,
        "calibrator": CalibratorSpec,
    }
    try:
        members = members_of(made)
        if members:
            ids = list(members)
            print(
                f"{len(ids):,} problems, from {ids[0]} to {ids[-1]}"
                if len(ids) > 1
                else f"1 problem, {''.join(ids)}"
            )
            return
        spec = specs[group].of(made)
        for attribute in SHOWN[group]:
            if (value := getattr(spec, attribute)) is not None:
                print(
                    f"{attribute:<14}{', '.join(map(str, value)) if isinstance(value, tuple) else value}"
                )
        if group == "problem" and hasattr(made, "truth"):
            _print_truths(made)
    except BadInputError as error:  # a problem whose file is not given yet
        print(error)


def _print_parts(made: Any, node: dict[str, Any], comments: dict[str, str]) -> None:
    """Print docstring and parameters of an object, then those of the objects of our classes that it holds."""
    from harness.plan.parts import parts_in

    for one in parts_in(made, node, comments):
        print(f"{one.path}{one.title}: {one.doc or 'no docstring'}\n")
        if one.rows:
            print(f"{text_table(one.rows, head=HEAD)}\n")


def _print_truths(problem: Any) -> None:
    from harness.math import estimands
    from harness.problems.base import ProblemSpec, truth_of

    for notion in ProblemSpec.of(problem).default_notions:
        for name in estimands.names(notion):
            truth = truth_of(problem, name, notion)
            if truth is not None:
                print(
                    f"{notion:<10} {name:<24} {truth.value:.10g} ± {truth.error:.1g}  {truth.method}"
                )


def _experiment(name: str) -> None:
    from harness.configure.compose import compose
    from harness.plan import plan as planning

    settings = compose([f"experiment={name}"])
    rows = [
        ("title", settings.title or ""),
        ("problems", ", ".join(settings.problem)),
        ("estimators", ", ".join(settings.estimator)),
        ("n", _setting(settings.n)),
        ("reps", _setting(settings.reps)),
        ("notion", _setting(settings.notion)),
    ]
    if settings.paper:
        rows.append(
            (
                "paper",
                f"{settings.paper}, compared with {', '.join(settings.compare or [])} of its reported numbers",
            )
        )
    try:
        plan = planning.plan(settings)
        runnable = len(plan.cells) - len(plan.skips)
        rows.append(
            (
                "cells",
                f"{len(plan.cells):,}, of which {runnable:,} run here and {len(plan.skips):,} are skipped",
            )
        )
    except BadInputError as error:  # a family without files
        plan = None
        rows.append(("cells", str(error)))
    files = _files(settings.problem)
    if files:
        rows.append(("files", "; ".join(files)))
    rows.append(("run", f"calharness experiment={name}"))
    for what, text in rows:
        print(
            textwrap.fill(
                text,
                118,
                initial_indent=f"{what:<12}",
                subsequent_indent=" " * 12,
                break_on_hyphens=False,
            )
        )
    if plan:
        for reason, count in Counter(plan.skips.values()).most_common():
            print(f"{'':<12}{count:,} cells: {reason}")


def _setting(value: Any) -> str:
    if value is None:
        return "the problem's own"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _files(nodes: dict[str, Any]) -> list[str]:
    """`path (present)` or `path (absent)` for every file or folder that the problems' YAMLs name."""
    from harness.common.paths import CACHE

    data = os.environ.get("CALHARNESS_DATA")
    places = [Path.cwd(), *([Path(data).expanduser()] if data else []), CACHE]
    paths = dict.fromkeys(_paths(nodes))
    return [
        f"{path} ({'present' if any((place / path).exists() for place in places) else 'absent'})"
        for path in paths
    ]


def _paths(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("path", "folder") and isinstance(value, str) and value:
                yield value
            else:
                yield from _paths(value)
    elif isinstance(node, list):
        for value in node:
            yield from _paths(value)
