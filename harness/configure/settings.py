"""The settings of a configuration: each is checked once, before anything is planned, and refused in one sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from harness.configure import addresses
from harness.errors import BadInputError
from harness.estimators.base import is_positive
from harness.math import estimands

FIGURE_FORMATS = ("png", "svg", "pdf", "eps", "ps", "jpg", "tif", "webp")
RANKING_KEYS = ("stream", "orders", "reference", "sets")


def checked(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration, as it is. Raises BadInputError where a setting of conf/config.yaml has a value that cannot be used."""
    for name, low in (("seed", 0), ("shard", 0), ("shards", 1)):
        if not isinstance(config[name], int) or isinstance(config[name], bool) or config[name] < low:
            raise BadInputError(f"{name} is {config[name]!r}; an integer of at least {low} is needed.")
    if config["shard"] >= config["shards"]:
        raise BadInputError(f"shard is {config['shard']} of shards={config['shards']}; shards are counted from 0.")
    if not isinstance(config["jobs"], int) or isinstance(config["jobs"], bool) or config["jobs"] == 0:
        raise BadInputError(f"jobs is {config['jobs']!r}; a positive number of workers, or -1 for one per core, is needed.")
    addresses.check(config)
    for name, unit in (("cell_timeout", "seconds"), ("max_memory", "megabytes")):
        if config[name] is not None and not is_positive(config[name]):
            raise BadInputError(f"{name} is {config[name]!r}; a positive number of {unit}, or null, is needed.")
        if config[name] is not None and config["engine"] == "serial":
            raise BadInputError(f"{name} is given with engine=serial, where nothing can stop a cell; use another engine.")
    if config["on_error"] not in ("record", "raise"):
        raise BadInputError(f"on_error is {config['on_error']!r}; allowed are record, raise.")
    if not isinstance(config["refresh"], bool):
        raise BadInputError(f"refresh is {config['refresh']!r}; allowed are true (compute again what is recorded), false.")
    if not isinstance(config["profile"], bool):
        raise BadInputError(f"profile is {config['profile']!r}; allowed are true (say where the time went), false.")
    if config["seed"] >= 2**63:
        raise BadInputError(f"seed is {config['seed']}; an integer below 2^63 is needed.")
    for name in (*as_list(config["estimand"]), *as_list(config["figure"]["estimand"])):
        estimands.check_name(str(name))
    for name in ("name", "paper", "item"):
        value = config[name]
        if value is not None and not (isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]*", value)):
            raise BadInputError(f"{name} is {value!r}; it becomes a file name: letters, digits, '_', '-' and '.' are allowed.")
        if value in ("records", "truths", "runs"):
            raise BadInputError(f"{name} is {value!r}, the folder of the {value} themselves; choose another.")
    if config["item"] and not config["paper"]:
        raise BadInputError(f"item is {config['item']!r}, but paper is not given; an item belongs to an experiment.")
    checked_arena(config["arena"])
    resamples = config["bootstrap"]
    whole = isinstance(resamples, int) and not isinstance(resamples, bool)
    if resamples is not None and not (whole and (resamples == 0 or resamples >= 20)):
        raise BadInputError(f"bootstrap is {resamples!r}; a number of resamples of at least 20, 0 for none, or null is needed.")
    if config["reliability"] not in ("overall", "classes", "none"):
        raise BadInputError(f"reliability is {config['reliability']!r}; allowed are overall, classes, none.")
    figure = checked_figure(config["figure"])
    have = list(config.get("estimator") or {})
    unknown = [e for e in as_list(figure["estimators"]) if e not in have]
    if unknown:
        raise BadInputError(
            f"figure.estimators has {', '.join(map(str, unknown))}, which is not in this run; its estimators are "
            f"{', '.join(have)}."
        )
    if not all(isinstance((config["labels"] or {}).get(g, {}), dict) for g in ("problem", "estimator")):
        raise BadInputError("labels must map problem and estimator ids to texts.")
    return config


def checked_arena(arena: Any) -> dict[str, Any] | None:
    """The configuration's `arena`, as it is. Raises BadInputError unless it is null, or its key `families` is a mapping from
    names to lists of problem ids, each id in one of them, or the id of an experiment that has such a mapping, and its key
    `development`, if there is one, a list of some of these names."""
    if arena is None:
        return None
    fits = isinstance(arena, dict) and "families" in arena and not set(arena) - {"families", "development"}
    families = arena["families"] if fits else None
    lists = families.values() if isinstance(families, dict) else ()
    named = families and all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in lists)
    if not named or not isinstance(families, (dict, str)):
        raise BadInputError(f"arena is {arena!r}; {{families: {{NAME: [problem ids]}}}} is needed, or {{families: EXPERIMENT}}.")
    every = [name for one in lists for name in one]
    twice = next((name for name in every if every.count(name) > 1), None)
    if twice:
        raise BadInputError(f"arena.families has {twice} twice; a problem is of one family.")
    development = arena.get("development") or []
    if not isinstance(development, list) or (isinstance(families, dict) and not set(development) <= set(families)):
        raise BadInputError(f"arena.development is {development!r}; a list of names of arena.families is needed.")
    return dict(arena)


def checked_figure(figure: dict[str, Any]) -> dict[str, Any]:
    """The configuration's `figure`, as it is. Raises BadInputError, with the remedy, where size, format, dpi, font,
    panels_per_row or caption is nothing that can be drawn."""

    def number(value: Any, low: float, high: float, kind: Any = (int, float)) -> bool:
        return isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high

    size, formats, caption = figure.get("size"), figure.get("format"), figure.get("caption")
    if size is not None and not (isinstance(size, list) and len(size) == 2 and all(number(x, 0.5, 40) for x in size)):
        raise BadInputError(
            f"figure.size is {size!r}; give width and height in inches, 0.5 to 40, as in 'figure.size=[6.75,3]', or null."
        )
    named = [formats] if isinstance(formats, str) else formats
    unknown = [f for f in named if f not in FIGURE_FORMATS] if isinstance(named, list) else [named]
    if unknown and formats is not None:
        raise BadInputError(
            f"figure.format is {formats!r}; give a list of {', '.join(FIGURE_FORMATS)}, as in 'figure.format=[png,pdf]' "
            f"(png and svg are always written)."
        )
    for name, low, high, remedy in (("dpi", 30, 1200, "200 is usual"), ("font", 4, 30, "null is 8 points")):
        value = figure.get(name)
        if value is not None and not number(value, low, high):
            raise BadInputError(f"figure.{name} is {value!r}; give a number from {low} to {high} ({remedy}).")
    if not number(figure["panels_per_row"], 1, float("inf"), int):
        raise BadInputError(f"figure.panels_per_row is {figure['panels_per_row']!r}; an integer of at least 1 is needed.")
    if caption is not None and not isinstance(caption, str):
        raise BadInputError(f"figure.caption is {caption!r}; give a text, or null for what is drawn in words.")
    return figure


def checked_ranking(ranking: Any, problems: Collection[str]) -> dict[str, Any]:
    """The config's `ranking` with all its keys; `problems` are the ids of the run. Raises BadInputError on anything else.

    stream      name of the random stream that the models share, for those that have none yet
    orders      {text: [problem ids, smallest error first]}, of two models or more; a list inside the list is one level
    reference   null, `full` (all models by the estimator's own value on all rows of their files), or an estimand (by its truths)
    sets        {text: [problem ids]}: the reference orders the models of each set by themselves; null for one set of all
    """
    if not isinstance(ranking, dict) or set(ranking) - set(RANKING_KEYS):
        raise BadInputError(f"ranking is {ranking!r}; a mapping with the keys {', '.join(RANKING_KEYS)} is needed.")
    found = {key: ranking.get(key) for key in RANKING_KEYS}
    if not found["orders"] and not found["reference"]:
        raise BadInputError("ranking has neither orders nor a reference; one of them must say what the right order is.")
    if len(problems) < 2:
        raise BadInputError(f"the models of the ranking are {', '.join(problems)}; at least two are needed.")
    reference = found["reference"]
    if reference is not None and not (isinstance(reference, str) and (reference == "full" or _is_known(reference))):
        raise BadInputError(
            f"ranking.reference is {reference!r}; allowed are null, full, and an estimand whose truths problems know."
        )
    for name, models in _checked_sets(found).items():
        absent = [model for level in levels(models) for model in level if model not in problems]
        if absent:
            raise BadInputError(f"ranking.sets.{name} is {models!r}; {', '.join(absent)} not among the problems of this run.")
    if found["orders"] and not isinstance(found["orders"], dict):
        raise BadInputError(f"ranking.orders is {found['orders']!r}; a mapping from names to lists of problem ids is needed.")
    for name, order in (found["orders"] or {}).items():
        if not _is_order(order):
            raise BadInputError(f"ranking.orders.{name} is {order!r}; a list of problem ids, or of lists of them, is needed.")
        known = [model for level in levels(order) for model in level]
        absent = [model for model in known if model not in problems]
        if len(levels(order)) < 2 or len(set(known)) < len(known) or absent:
            why = (
                f"{', '.join(absent)} not among the problems of this run"
                if absent
                else "at least two different models are needed"
            )
            raise BadInputError(f"ranking.orders.{name} is {order!r}; {why}.")
    return found


def _checked_sets(ranking: dict[str, Any]) -> dict[str, Any]:
    sets = ranking["sets"] or {}
    if not isinstance(sets, dict) or not all(_is_order(one) and len({*levels(one)}) > 1 for one in sets.values()):
        raise BadInputError(f"ranking.sets is {sets!r}; a mapping from names to lists of two problem ids or more is needed.")
    if sets and not ranking["reference"]:
        raise BadInputError("ranking.sets is given without a reference, which is what orders the models of a set.")
    return sets


def _is_known(estimand: str) -> bool:
    try:
        return estimands.has_truth(estimands.check_name(estimand))
    except BadInputError:
        return False


def _is_order(order: Any) -> bool:
    if not isinstance(order, (list, tuple)):
        return False
    names = [name for level in order for name in (level if isinstance(level, (list, tuple)) else [level])]
    return bool(names) and all(isinstance(name, str) for name in names)


def levels(order: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """['a', ['b', 'c']] -> (('a',), ('b', 'c'))."""
    return tuple((level,) if isinstance(level, str) else tuple(level) for level in order)


def as_list(value: Any) -> list[Any]:
    """None -> [], a single value -> [value], a list stays."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
