"""Compute the arena's stored records again: all of them, or those of some estimators."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.configure.settings import Settings
from harness.errors import BadInputError, guess
from harness.execute.pending import pending
from harness.records import baseline, baseline_store, schema, tables
from harness.records.baseline_description import find_folder
from harness.workflow.experiment import Experiment


def rebuild(
    estimators: Collection[str], overrides: Sequence[str], folder: str | None = None
) -> list[Path]:
    """Compute missing cells of the arena, cheapest experiment first, and store its records.

    Parameters
    ----------
    estimators : collection of str
        Ids of the estimators whose cells are computed. Only their files and their rows of the table
        of costs are written. Without ids, all files are written, and only cells without a stored
        record are computed.
    overrides : sequence of str
        Options of the runs, such as out=DIR.
    folder : str, optional
        Folder of the baseline. By default it is that of the checkout, and stored records of the
        experiments that the arena's page only shows are written too.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    BadInputError
        If the arena has no such estimator, or if ids are given and the arena's problems, sample
        sizes or replications are not those of the baseline. An experiment that the baseline does
        not have is added if its samples are among those of the baseline.
    """
    compared = _settings(baseline.experiments(), overrides)
    shown = {} if folder else _settings(baseline.experiments(compared=False), overrides)
    _check_ids(estimators, {**compared, **shown})
    restricted = _restricted(compared, estimators)
    planned = {name: Experiment.of_settings(settings) for name, settings in restricted.items()}
    plans = {name: experiment.plan for name, experiment in planned.items()}
    if estimators:
        baseline_store.check_samples(plans, folder)
    for experiment in sorted(planned.values(), key=_rows_to_compute):
        _copy_truths(estimators, find_folder(folder), experiment.records.out)
        if not estimators:
            _copy_baseline(experiment, find_folder(folder))
        _compute(experiment)
    written = []
    if planned:  # otherwise the estimators are in experiments that are only shown
        out = next(iter(planned.values())).records.out
        written = baseline_store.store(plans, out, folder, whole=not estimators)
    for name, settings in shown.items():
        written += _store_shown(name, settings, estimators)
    return written


def _settings(names: Sequence[str], overrides: Sequence[str]) -> dict[str, Settings]:
    return {name: baseline.compose_settings(name, overrides) for name in names}


def _check_ids(estimators: Collection[str], settings: Mapping[str, Settings]) -> None:
    """Raise BadInputError if no experiment has one of the estimators."""
    known = list(dict.fromkeys(id for one in settings.values() for id in one.estimator))
    for id in estimators:
        if id not in known:
            raise BadInputError(
                f"the arena has no estimator {id!r}{guess(id, known)}; its estimators are "
                f"{', '.join(known)}."
            )


def _restricted(
    settings: Mapping[str, Settings], estimators: Collection[str]
) -> dict[str, Settings]:
    """Return the settings with these estimators alone, without experiments that have none.

    If `estimators` is empty, all settings are returned.
    """
    if not estimators:
        return {**settings}
    restricted = {}
    for name, one in settings.items():
        kept = {id: config for id, config in one.estimator.items() if id in estimators}
        if kept:
            restricted[name] = replace(one, estimator=kept)
    return restricted


def _copy_truths(estimators: Collection[str], folder: Path, out: Path) -> None:
    """Copy stored truths into `out`, so that none is computed again.

    They are those of the estimators. An estimator without stored records has the truths of all
    others, because the problems are the same.
    """
    paths = [tables.file_path(folder, id) for id in estimators]
    if not all(path.is_file() for path in paths):
        paths = baseline.estimator_files(folder)
    columns = [*tables.TRUTH_OF, *schema.TRUTHS, "truth_method"]
    for path in paths:
        tables.write_truths_of(tables.read(path, columns), out)


def _copy_baseline(experiment: Experiment, folder: Path) -> None:
    """Copy stored records of an experiment's cells, with the mean seconds of their settings."""
    paths = [tables.file_path(folder, id) for id in experiment.plan.estimators]
    held = [path for path in paths if path.is_file()]
    if held:
        costs, missing = baseline.read_costs(folder), _missing_cells(experiment)
        for path in held:
            rows = baseline.read_file(path, costs=costs)
            tables.copy_rows(rows[rows["key"].isin(missing)], path, experiment.records.out)


def _rows_to_compute(experiment: Experiment) -> int:
    return pending(experiment.plan, experiment.records.out).tally.rows


def _compute(experiment: Experiment) -> None:
    """Compute the missing cells of an experiment, and print their numbers."""
    started = time.monotonic()
    name = experiment.settings.run_name
    print(f"{name}: {len(experiment.plan.cells):,} cells", file=sys.stderr)
    counts = experiment.compute()
    print(
        f"{name}: {counts['todo']:,} computed, {counts['failed']:,} failed, "
        f"{time.monotonic() - started:.0f} s"
    )


def _store_shown(name: str, settings: Settings, estimators: Collection[str]) -> list[Path]:
    """Store an experiment that the arena's page only shows, if it is complete.

    Cells of `estimators` are computed first, and the other records are those that are stored.
    Return the written path in a list.
    """
    experiment = Experiment.of_settings(settings)
    path = tables.file_path(find_folder().parent / tables.FOLDER, name)
    if estimators:
        restricted = _restricted({name: settings}, estimators)
        if not restricted:
            return []
        _copy_stored(experiment, path)
        _compute(Experiment.of_settings(restricted[name]))
    frame = experiment.records.read_own()
    if missing := experiment.records.missing(frame):
        print(f"{name}: not stored, {missing:,} cells have no record", file=sys.stderr)
        return []
    frame = frame.assign(diagnostics=None, arrays=None)
    return [tables.store(frame, experiment.plan, experiment.records.out, path)]


def _copy_stored(experiment: Experiment, path: Path) -> None:
    """Copy those stored records of an experiment into its folder that are not there yet."""
    if not path.is_file():
        return
    stored = tables.read(path)
    rows = stored[stored["key"].isin(_missing_cells(experiment))]
    tables.copy_rows(rows, path, experiment.records.out)


def _missing_cells(experiment: Experiment) -> set[str]:
    """Return the keys of those cells of an experiment that its folder has no record of."""
    return {cell.key for cell in experiment.plan.cells} - {*experiment.records.read_own()["key"]}
