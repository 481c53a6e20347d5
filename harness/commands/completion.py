"""Completion of ids and overrides. The shell calls the program at every tab, so nothing heavy is
imported: ids and parameters are read from YAML."""

from __future__ import annotations

import re
from typing import Any

from harness.common.paths import CONF
from harness.configure import catalogue
from harness.configure.options import GROUPS, ids, option

VALUES = {
    "notion": ("binary", "top_label", "classwise", "canonical", "all", "main"),
    "engine": ("serial", "loky", "dask", "ray"),
    "on_error": ("record", "raise"),
    "refresh": ("true", "false"),
    "profile": ("true", "false"),
    "same_draws_as_paper": ("true", "false"),
    "reliability": ("overall", "classes", "none"),
    "estimand": ("l1", "l2_squared", "rms", "kl", "linf"),
}


def overrides(ctx: Any, incomplete: str) -> list[str]:
    """Overrides that begin with `incomplete`. bash takes a word apart at =, so that the name stands
    before it: then values alone are returned."""
    before = [word for word in (ctx.params or {}).get("overrides") or [] if word != "="]
    name = before[-1].lstrip("'\"+") if before else ""
    if name and "=" not in name and name in _names() and "=" not in incomplete:
        return _values(name, incomplete)
    return _overrides(incomplete)


def any_id(incomplete: str) -> list[str]:
    """Ids of problems, estimators, experiments and calibrators."""
    return [name for group in (*GROUPS, "calibrator") for name in catalogue.every(group)]


def problem_or_estimator(incomplete: str) -> list[str]:
    """Ids that `check` takes."""
    return [*ids("estimator"), *ids("problem")]


def estimator(incomplete: str) -> list[str]:
    """Ids of estimators."""
    return ids("estimator")


def experiment_of_paper(incomplete: str) -> list[str]:
    """Ids of the experiments that belong to papers."""
    return [name for name in ids("experiment") if option("experiment", name).config.get("paper")]


def pack(incomplete: str) -> list[str]:
    """Packs of data and their groups."""
    from harness.sources.packs import packs

    known = packs()
    return [*dict.fromkeys(one.group for one in known.values() if one.group), *known, "tabrepo"]


def _overrides(word: str) -> list[str]:
    """Whole overrides that `word` may become."""
    plus = word[: len(word) - len(word.lstrip("+"))]
    name, equals, value = word[len(plus) :].partition("=")
    if equals:
        return [f"{plus}{name}={text}" for text in _values(name, value)]
    group, _, rest = name.partition(".")
    if rest and group in ("problem", "estimator") or name in ("problem.", "estimator."):
        one, dot, _ = rest.partition(".")
        if not dot:
            return [f"{plus}{group}.{one}." for one in ids(group)]
        return [f"{plus}{group}.{one}.{key}=" for key in _parameters(group, one, plus)]
    return [f"{plus}{one}=" for one in _names()]


def _values(name: str, value: str) -> list[str]:
    """Values of an option; in a list of ids, what may stand for its last one."""
    if name in ("problem", "estimator"):
        head = value[: max(value.rfind("["), value.rfind(","), value.rfind("(")) + 1]
        return [head + one for one in ids(name)]
    return ids(name) if name == "experiment" else list(VALUES.get(name, ()))


def _parameters(group: str, name: str, plus: str) -> list[str]:
    """Parameters of an id: those of its YAML, and behind a + also those that only its class has."""
    if name not in ids(group):
        return []
    if plus:
        return catalogue.parameters(group, name)
    return [key for key in option(group, name).config if key != "_target_"]


def _names() -> list[str]:
    """Names of the options of conf/config.yaml."""
    text = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    top = re.findall(r"^(\w+):", text, flags=re.M)[1:]
    figure = [f"figure.{key}" for key in re.findall(r"^  (\w+):", text.split("\nfigure:")[1], re.M)]
    taken = ("figure", "sweep", "labels", "reasons")
    return [*GROUPS, *(name for name in top if name not in taken), *figure]
