"""Records that an experiment does not compute: those of other experiments (`records_of`) and from outside (`records_from`)."""

from __future__ import annotations

from harness.configure.catalogue import defaults
from harness.configure.options import ids, option
from harness.configure.rules import Role, names_of
from harness.configure.settings import Settings
from harness.errors import BadInputError, guess


def experiments(settings: Settings) -> list[str]:
    """Ids of the experiments whose records are used, with those that they name in turn, each once.

    Raises
    ------
    BadInputError
        If an id is unknown, or an experiment's records would be its own.
    """
    return list(dict.fromkeys(_named(settings.records_of, [settings.experiment or "this run"])))


def _named(names: list[str], chain: list[str]) -> list[str]:
    found = []
    for name in names:
        if name not in ids("experiment"):
            raise BadInputError(
                f"records_of of {chain[-1]} has {name!r}, which is no experiment{guess(name, ids('experiment'))}; "
                "`calharness list experiments` shows all."
            )
        if name == chain[-1]:
            raise BadInputError(
                f"records_of of {name} names {name} itself, whose records it has anyway; leave it out."
            )
        if name in chain:
            raise BadInputError(
                f"records_of goes in a circle: {' names '.join([*chain[chain.index(name) :], name])}."
            )
        found += [
            name,
            *_named(option("experiment", name).config.get("records_of") or [], [*chain, name]),
        ]
    return found


def without_cells(settings: Settings) -> bool:
    """Whether a run computes nothing of its own: it has no problem, and records of others."""
    return not settings.problem and bool(settings.records_of or settings.records_from)


def check(settings: Settings) -> None:
    """Raise BadInputError where records of others go with an option that needs cells of the run's own."""
    if (settings.records_of or settings.records_from) and settings.sweep:
        raise BadInputError(
            "a sweep draws its own cells alone; leave out sweep, or records_of and records_from."
        )
    if without_cells(settings):
        of_cells = names_of(Settings, Role.CELLS)
        idle = [name for name in of_cells if getattr(settings, name) != defaults()[name]]
        idle += ["estimator"] if settings.estimator else []
        if idle:
            raise BadInputError(
                f"{', '.join(idle)} would change nothing: the run has no problems of its own, "
                "and those of records_of are as configured."
            )
    experiments(settings)
