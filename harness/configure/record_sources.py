"""Records that an experiment does not compute: those of other experiments (`records_of`) and from outside (`records_from`)."""

from __future__ import annotations

from typing import Any

from harness.configure.catalogue import defaults
from harness.configure.options import ids, option
from harness.errors import BadInputError, guess

NEED_CELLS = ("n", "reps", "seed", "notion", "bootstrap")  # settings that bear on an experiment's own cells alone


def experiments(config: dict[str, Any]) -> list[str]:
    """Ids of the experiments whose records are used, with those that they name in turn, each once.

    Raises
    ------
    BadInputError
        If an id is unknown, or an experiment's records would be its own.
    """
    return list(dict.fromkeys(_named(config["records_of"], [config["experiment"] or "this run"])))


def _named(names: list[str], chain: list[str]) -> list[str]:
    found = []
    for name in names:
        if name not in ids("experiment"):
            raise BadInputError(
                f"records_of of {chain[-1]} has {name!r}, which is no experiment{guess(name, ids('experiment'))}; "
                "`calharness list experiments` shows all."
            )
        if name == chain[-1]:
            raise BadInputError(f"records_of of {name} names {name} itself, whose records it has anyway; leave it out.")
        if name in chain:
            raise BadInputError(f"records_of goes in a circle: {' names '.join([*chain[chain.index(name) :], name])}.")
        found += [name, *_named(option("experiment", name).config.get("records_of") or [], [*chain, name])]
    return found


def without_cells(config: dict[str, Any]) -> bool:
    """Whether a run computes nothing of its own: it has no problem, and records of others."""
    return not config.get("problem") and bool(config["records_of"] or config["records_from"])


def check(config: dict[str, Any]) -> None:
    """Raise BadInputError where `records_of` or `records_from` has a form that cannot be used, or goes with another setting."""
    named, sources = config["records_of"], config["records_from"]
    if not (isinstance(named, list) and all(isinstance(name, str) for name in named)):
        raise BadInputError(f"records_of is {named!r}; a list of ids of experiments is needed, as records_of=[smoke].")
    wanted = "{pack: NAME, reader: module.function} or {file: PATH, reader: module.function}"
    if not isinstance(sources, list):
        raise BadInputError(f"records_from is {sources!r}; a list is needed, of {wanted}.")
    for one in sources:
        texts = isinstance(one, dict) and all(isinstance(text, str) for text in one.values())
        if not texts or set(one) not in ({"file", "reader"}, {"pack", "reader"}):
            raise BadInputError(f"records_from has {one!r}; what is needed is {wanted}.")
    if (named or sources) and config["sweep"]:
        raise BadInputError("a sweep draws its own cells alone; leave out sweep, or records_of and records_from.")
    idle = [name for name in NEED_CELLS if config[name] != defaults()[name]] if without_cells(config) else []
    idle += ["estimator"] if without_cells(config) and config["estimator"] else []
    if idle:
        raise BadInputError(
            f"{', '.join(idle)} would change nothing: the run has no problems of its own, and those of records_of are as "
            "configured."
        )
    experiments(config)
