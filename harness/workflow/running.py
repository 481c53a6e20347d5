"""Plan, compute and draw a run, or the jobs of a command line with Hydra's flags."""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any

import hydra
import pandas as pd
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig

from harness.common.paths import CONF, short_path
from harness.common.writing import whole_file, without_formulas
from harness.configure import compose as composing
from harness.configure import flags, hydra_source
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute.stops import RunInterruptedError, TerminatedError
from harness.workflow import drawing, file_diagrams, multirun, profile, summary
from harness.workflow.experiment import Experiment


class _WrongJobError(BaseException):
    """Carrier of an error out of a job of Hydra, which prints a line of its own on an Exception."""


def run(request: Settings | list[str]) -> int:
    """Run composed settings, or a command line with flags of Hydra. Return the exit status.

    `request` is the result of `base.read_run`.
    """
    return _run_settings(request) if isinstance(request, Settings) else _run_hydra(request)


def _run_settings(settings: Settings) -> int:
    """Plan, compute and draw a composed configuration. Return the exit status."""
    began = time.time()
    with profile.stage("plan"):
        experiment = Experiment.of_settings(settings)
    summary.announce(experiment)
    for line in file_diagrams.notes(experiment):
        print(line)
    counts, frame, status = _compute(experiment, experiment.settings.run_name)
    failed = frame.loc[frame["status"].eq("failed"), "key"].nunique()
    missing = experiment.records.missing(frame) - failed
    if missing > 0:
        print(
            f"  {missing:,} cells of other shards are missing; when they are computed, "
            "`calharness report ...` draws the result"
        )
    if missing <= 0 or settings.shards == 1:
        with profile.stage("figures"):
            status = max(status, summary.finish(experiment, frame, redraw=counts["todo"] > 0))
    if settings.profile:
        table = profile.table(experiment.records.read(), began)
        identity = experiment.identity
        path = identity.folder / f"{identity.stem}_profile.csv"
        with whole_file(path) as temporary:
            without_formulas(table).to_csv(temporary, index=False)
        print(f"\n{profile.text(table)}\n  {'profile':<14}{short_path(path)}")
    return status


def _compute(experiment: Experiment, name: str) -> tuple[dict[str, Any], pd.DataFrame, int]:
    """Compute the missing cells of an experiment, and print a line that begins with `name`.

    Return the counts of `Experiment.compute`, the records, and the exit status.
    """
    started = time.monotonic()
    with profile.stage("compute"):
        counts = experiment.compute()
    with profile.stage("read"):
        frame = experiment.records.read(to_draw=True)
    print(
        f"{name}: {counts['cells']:,} cells, {counts['done']:,} done before, "
        f"{counts['todo']:,} computed, {counts['skipped']:,} skipped, {counts['failed']:,} failed"
        f"{summary.imported(experiment, frame)}, {time.monotonic() - started:.1f} s"
    )
    status = max(summary.print_failures(frame, counts), int(counts["failed"] > 0))
    return counts, frame, status


def _run_hydra(arguments: list[str]) -> int:
    """Run a command line with flags of Hydra, such as -m or --cfg. Return the exit status."""
    arguments = flags.check_flags(arguments)
    hydra_source.register()
    given = get_args_parser().parse_args(arguments)
    constant = multirun.parse(given.overrides, searches=True)[0]
    if given.multirun:
        if any(text.lstrip("+").lower() == "profile=true" for text in given.overrides):
            raise BadInputError(
                "profile=true works for a single run only; leave out -m or profile=true."
            )
        multirun.current = multirun.Multirun(given.overrides)
        for experiment in multirun.current.experiments:
            summary.announce(experiment)
    if not multirun.current or multirun.current.searches:
        # Check the configuration before Hydra calls code that it names.
        composing.compose(constant)
    composing.check_hydra_choices(constant, given.overrides)
    statuses = [0]

    def run_job(cfg: Any) -> float | None:
        config = HydraConfig.get()
        plain = composing.plain(cfg, config.runtime.choices.get("experiment"))
        settings = composing.check_composed(plain, given.overrides)
        if given.multirun:
            return _run_job(settings, list(config.overrides.task), config.job.num)
        statuses.append(_run_settings(settings))
        return None

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def job(cfg: Any) -> float | None:
        try:
            return run_job(cfg)
        except BadInputError as error:
            if given.multirun and not multirun.current:  # a launcher's process, which reports it
                raise
            raise _WrongJobError(error) from None

    sys.argv = [sys.argv[0], *composing.free_paths(arguments)]
    logging.getLogger("hydra").setLevel(logging.WARNING)  # each job prints its own summary
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises errors, and prints none
    try:
        with composing.hydra_mistakes(arguments):
            job()
        if multirun.current:
            return multirun.current.draw(summary.finish_recorded)
        return max(statuses)
    except _WrongJobError as wrong:
        raise wrong.args[0] from None
    finally:
        multirun.current = None


def _run_job(settings: Settings, overrides: list[str], number: int) -> float | None:
    """Compute the cells of one job of a multirun.

    The main process draws when all jobs have ended. A launcher may start jobs in other processes,
    where `multirun.current` is None. Return the mean RMSE, which a searching sweeper minimises, or
    None without such a sweeper.
    """
    experiment = Experiment.of_settings(settings)
    whole = multirun.current
    name = f"job {number + 1} ({', '.join(overrides)})"
    try:
        status = _compute(experiment, whole.job_name(number, overrides) if whole else name)[2]
    except RunInterruptedError as stop:
        # After any other exception, Hydra would start the next job.
        kind = TerminatedError if stop.terminated else KeyboardInterrupt
        raise kind(str(stop)) from None
    if whole:
        whole.note(settings, overrides, status)
    return drawing.mean_rmse(experiment) if whole is None or whole.searches else None
