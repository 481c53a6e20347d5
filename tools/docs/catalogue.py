"""Write the reference tables of estimators, calibrators, problems and public names as Markdown."""

from __future__ import annotations

import functools
import html
from itertools import groupby

from four_points import family
from marks import table

import harness.calibrators
import harness.estimators
import harness.problems
from harness.configure import catalogue
from harness.configure.options import option
from harness.estimators.base import EstimatorSpec

# names in __all__ that are neither an estimator nor a problem
NO_CLASSES = ("Estimate", "Truth", "paired_difference")

# {heading: public names}; a public name that is not listed here goes under the first heading
API = {
    "Your own predictions": [
        "estimate",
        "estimate_stream",
        "reduce",
        "paired_difference",
        "perturb",
    ],
    "Parts by their ids": [
        "load_problem",
        "load_estimator",
        "list_problems",
        "list_estimators",
        "list_experiments",
    ],
    "Runs": ["run", "compare", "load_records", "evaluate"],
    "Errors": ["BadInputError", "UndefinedError"],
}
ELSEWHERE = ("Estimate", "Truth")  # documented on the pages of estimators and problems
INHERITED = {"Judgement": ", inherited_members: true"}  # its methods come from its base class


def api() -> str:
    """Return mkdocstrings' directives for all public names of the package."""
    placed = {name for names in API.values() for name in names}
    others = [name for name in harness.__all__ if name not in placed and name not in ELSEWHERE]
    parts = []
    for title, names in API.items():
        listed = [*others, *names] if title == next(iter(API)) else names
        directives = [
            f"::: {_home(name)}\n    options: {{heading_level: 3{INHERITED.get(name, '')}}}"
            for name in listed
        ]
        parts.append("\n\n".join([f"## {title}", *directives]))
    return "\n\n".join(parts)


def _home(name: str) -> str:
    return f"harness.errors.{name}" if name.endswith("Error") else f"harness.{name}"


def estimators() -> str:
    """Return one table of estimator ids per family, then the documentation of every class."""
    names: dict[str, list[str]] = {}
    for name in harness.list_estimators():
        names.setdefault(family(name), []).append(name)
    parts = ["## All ids"]
    for title, ids in names.items():
        columns = ["id", "what it is", "notions", "estimands"]
        parts.append(f"### {title}\n\n{table(columns, [_estimator(name) for name in ids])}")
    return "\n\n".join([*parts, "## Classes", _classes("estimators")])


def _estimator(name: str) -> list[str]:
    spec = EstimatorSpec.of(harness.load_estimator(name))
    estimands = ", ".join(f"`{name}`" for name in spec.estimands or ())
    return [_anchored(name), _described("estimator", name), ", ".join(spec.notions), estimands]


def calibrators() -> str:
    """Return a table of the calibrator classes, then the documentation of every class."""
    rows = [
        [f"[`{name}`][{path}]", _text(catalogue.describe("calibrator", name))]
        for name, path in catalogue.calibrators().items()
    ]
    return f"{table(['class', 'what it fits'], rows)}\n\n## Classes\n\n{_classes('calibrators')}"


def problems() -> str:
    """Return one table of problem ids per class, then the documentation of every class."""
    parts = ["## All ids"]
    for title, ids in groupby(
        sorted(harness.list_problems(), key=lambda name: (_class(name), name)), _class
    ):
        rows = [[_anchored(name), _described("problem", name)] for name in ids]
        parts.append(f"### {title} problems\n\n{table(['id', 'what it is'], rows)}")
    return "\n\n".join([*parts, "## Classes", _classes("problems")])


def _class(name: str) -> str:
    return str(catalogue.config("problem", name)["_target_"]).rpartition(".")[2]


def _anchored(name: str) -> str:
    return f'<span id="{name}"></span>`{name}`'


def _described(group: str, name: str) -> str:
    """Return a table entry for `name`: its class, its parameters and a description.

    The class is a link if it is public. `group` is the folder of conf/ that has the id.
    """
    node = catalogue.config(group, name)
    path = str(node["_target_"])
    cls = path.rpartition(".")[2]
    is_documented = _documented(f"{group}s").get(cls) == path
    link = f"[`{cls}`][{path}]" if is_documented else f"`{path}`"
    parameters = catalogue.short_text(node).removeprefix(cls)
    link += f" `{parameters}`" if parameters else ""
    docstring = catalogue.docstring(node["_target_"])
    about = catalogue.first_sentence(option(group, name).about)
    return f"{link}: {_text(about or catalogue.first_sentence(docstring))}"


def _text(text: str) -> str:
    return html.escape(text, quote=False).replace("*", r"\*")


@functools.cache
def _documented(package: str) -> dict[str, str]:
    """Return {class name: dotted path} of a package's classes: public ones, and those of ids."""
    if package == "calibrators":
        return catalogue.calibrators()
    names = [name for name in getattr(harness, package).__all__ if name not in NO_CLASSES]
    paths = {name: f"harness.{package}.{name}" for name in names}
    group = package.removesuffix("s")
    for name in catalogue.all_ids(group):
        path = catalogue.config(group, name)["_target_"]
        if path.startswith(f"harness.{package}."):
            paths.setdefault(path.rpartition(".")[2], path)
    return dict(sorted(paths.items()))


def _classes(package: str) -> str:
    """Return mkdocstrings' directives for a package's classes, without their methods."""
    options = "    options: {heading_level: 3, members: false}"
    return "\n\n".join(f"::: {path}\n{options}" for path in _documented(package).values())
