"""Records from other experiments (`records_of`) and from outside (`records_from`)."""

from __future__ import annotations

from harness.configure.catalogue import defaults
from harness.configure.options import ids, option
from harness.configure.rules import Role, names_of
from harness.configure.settings import Settings
from harness.errors import BadInputError, guess


def experiments(settings: Settings) -> list[str]:
    """Return the ids of the experiments whose records are used, directly or through others.

    Raises
    ------
    BadInputError
        If an id is unknown, or an experiment names itself, perhaps through others.
    """
    return list(dict.fromkeys(_named(settings.records_of, [settings.experiment or "this run"])))


def _named(names: list[str], chain: list[str]) -> list[str]:
    experiments = []
    for name in names:
        if name not in ids("experiment"):
            raise BadInputError(
                f"records_of of {chain[-1]} has {name!r}, which is no experiment"
                f"{guess(name, ids('experiment'))}; `calharness list experiments` shows all."
            )
        if name in chain:
            circle = " names ".join([*chain[chain.index(name) :], name])
            raise BadInputError(f"records_of goes in a circle: {circle}.")
        inner = option("experiment", name).config.get("records_of") or []
        experiments += [name, *_named(inner, [*chain, name])]
    return experiments


def without_cells(settings: Settings) -> bool:
    """Return True if a run has no problem, but records of others."""
    return not settings.problem and bool(settings.records_of or settings.records_from)


def check(settings: Settings) -> None:
    """Raise BadInputError if an option that needs own cells is given with records of others."""
    if (settings.records_of or settings.records_from) and settings.sweep:
        raise BadInputError(
            "a sweep draws its own cells alone; leave out sweep, or records_of and records_from."
        )
    if without_cells(settings):
        needs_cells = names_of(Settings, Role.CELLS)
        idle = [name for name in needs_cells if getattr(settings, name) != defaults()[name]]
        idle += ["estimator"] if settings.estimator else []
        if idle:
            raise BadInputError(
                f"{', '.join(idle)} would change nothing: the run has no problems of its own, "
                "and those of records_of are as configured."
            )
    experiments(settings)
