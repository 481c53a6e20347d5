"""Check the options `records_of` (use records of other experiments) and `records_from` (files)."""

from __future__ import annotations

from harness.configure.catalogue import defaults
from harness.configure.options import ids, option
from harness.configure.rules import Role, option_names
from harness.configure.settings import Settings
from harness.errors import BadInputError, guess


def experiments(settings: Settings) -> list[str]:
    """Return the ids of all experiments whose records a run uses.

    These are the experiments in its `records_of`, those in the `records_of` of these, and so on.

    Raises
    ------
    BadInputError
        If an id is unknown, or if an experiment depends on its own records.
    """
    first = settings.experiment or "this run"
    return list(dict.fromkeys(_collect(settings.records_of, [first], settings.config_dir)))


def _collect(names: list[str], chain: list[str], config_dir: str | None) -> list[str]:
    experiments, known = [], ids("experiment", config_dir)
    for name in names:
        if name not in known:
            raise BadInputError(
                f"records_of of {chain[-1]} contains {name!r}, which is not an experiment"
                f"{guess(name, known)}; `calharness list experiments` shows all."
            )
        if name in chain:
            circle = " uses ".join([*chain[chain.index(name) :], name])
            raise BadInputError(
                f"records_of forms a circle ({circle}); remove one of these experiments from it."
            )
        inner = option("experiment", name, config_dir).config.get("records_of") or []
        experiments += [name, *_collect(inner, [*chain, name], config_dir)]
    return experiments


def without_cells(settings: Settings) -> bool:
    """Return True if a run computes no cells, and only uses records that already exist."""
    return not settings.problem and bool(settings.records_of or settings.records_from)


def check(settings: Settings) -> None:
    """Raise BadInputError if `records_of` or `records_from` conflicts with another option.

    A sweep cannot use such records. Without a problem of its own, a run has no cells, so options
    that change cells would have no effect.
    """
    if (settings.records_of or settings.records_from) and settings.sweep:
        raise BadInputError(
            "a sweep cannot use records from elsewhere; leave out either sweep, or records_of and "
            "records_from."
        )
    if without_cells(settings):
        needs_cells = option_names(Settings, Role.CELLS)
        idle = [name for name in needs_cells if getattr(settings, name) != defaults()[name]]
        idle += ["estimator"] if settings.estimator else []
        if idle:
            raise BadInputError(
                f"{', '.join(idle)} would have no effect, because this run only uses records that "
                "already exist; leave it out, or give problem=[...]."
            )
    experiments(settings)
