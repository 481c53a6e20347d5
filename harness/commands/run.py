"""`calharness run`, or a line of overrides without a command."""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from harness.commands.base import Command, Overrides, short_path
from harness.common.paths import CONF
from harness.errors import BadInputError

if TYPE_CHECKING:
    from harness.configure.settings import Settings


class RunCommand(Command):
    """The help of a run ends with conf/config.yaml: all options with their defaults."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        settings = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
        lines = settings[settings.index("\nn:") + 1 :].splitlines()
        formatter.write("\nOverrides and their defaults (conf/config.yaml):\n")
        formatter.write("".join(f"  {line}".rstrip() + "\n" for line in lines))


def command(overrides: Overrides = None) -> int:
    """Compute the cells that no record holds, then draw.

    \b
    calharness experiment=berta2026_fig1
    calharness problem=[beta_wavy,dirichlet3_harmonic] 'estimator=[binned15,kde]' \\
      'n=[500,2000]' reps=20 name=mine
    calharness experiment=smoke estimator.binned15.bins=30 +problem.beta_calibrated.a=2

    An override is NAME=VALUE. Write a list in brackets and quote it: 'n=[500,2000]'. A text with
    spaces or signs has quotes of its own: "title='a = b'". Add a parameter that the YAML of an id
    leaves out with +. +estimator=kde adds to the experiment's own estimators. After an interruption
    the same command goes on.

    \b
    -m, --multirun    sweep over values with commas, a job for each:
                      calharness -m experiment=smoke seed=0,1,2
    sweep.PATH=[...]  the same in one job: 'sweep.estimator.binned15.bins=[5,10,20]';
                      table and figure go to results/sweeps/
    --cfg job         print the composed configuration, run nothing
    --traceback       print the whole trace of an error
    """
    words = overrides or []
    if any(word.startswith("-") for word in words):
        return _through_hydra(words)
    from harness.configure.compose import compose

    return run_settings(compose(words))


def run_settings(settings: Settings) -> int:
    """Run a composed configuration. Returns the exit status."""
    from harness.commands import file_diagrams, profile
    from harness.commands.experiment import Experiment

    began = time.time()
    with profile.stage("plan"):
        experiment = Experiment.of_settings(settings)
    if experiment.is_variation:
        print(f"{experiment.sentence}; its results go to {short_path(experiment.folder)}")
    for line in file_diagrams.notes(experiment):
        print(line)
    status = _compute(experiment, finish=True)
    if settings.profile:
        table, path = profile.table(experiment.records(), began), experiment.folder
        path.mkdir(parents=True, exist_ok=True)
        path = path / f"{experiment.stem}_profile.csv"
        table.to_csv(path, index=False)
        print(f"\n{profile.text(table)}\n  {'profile':<14}{short_path(path)}")
    return status


def _compute(experiment: Any, finish: bool, later: float = 0.0, name: str | None = None) -> int:
    """Compute the cells that no record holds and print a summary; with `finish`, draw. Returns the
    exit status."""
    from harness.commands import profile, summary

    started = time.monotonic()
    with profile.stage("compute"):
        counts = experiment.compute(later=later)
    with profile.stage("read"):
        frame = experiment.records(to_draw=True)
    print(
        f"{name or experiment.name}: {counts['cells']:,} cells, {counts['done']:,} done before, "
        f"{counts['todo']:,} computed, {counts['skipped']:,} skipped, {counts['failed']:,} failed"
        f"{summary.imported(experiment, frame)}, {time.monotonic() - started:.1f} s"
    )
    status = max(summary.print_failures(frame, counts), int(counts["failed"] > 0))
    if not finish:
        return status
    failed = frame.loc[frame["status"].eq("failed"), "key"].nunique()
    missing = experiment.missing(frame) - failed
    if missing > 0:
        print(
            f"  {missing:,} cells of other shards or runs are missing; `calharness report ...` draws once they are there"
        )
        if experiment.settings.shards > 1:
            return int(counts["failed"] > 0)
    with profile.stage("figures"):
        return max(status, summary.finish(experiment, frame, fresh=counts["todo"] > 0))


def _through_hydra(arguments: list[str]) -> int:
    """Run a line that has flags of Hydra: -m, --cfg and others. Returns the exit status."""
    import hydra
    from hydra._internal.utils import get_args_parser

    from harness.commands import multirun, summary
    from harness.configure import compose as composing
    from harness.configure import hydra_source

    arguments = composing.check_flags(arguments)
    hydra_source.register()

    given = get_args_parser().parse_args(arguments)
    if given.multirun:
        if any(text.lstrip("+").lower() == "profile=true" for text in given.overrides):
            raise BadInputError(
                "profile=true is of one run; leave out -m, or profile one of its jobs."
            )
        multirun.current = multirun.Multirun(given.overrides, summary.finish_recorded)
        for experiment in multirun.current.experiments:
            if experiment.is_variation:
                print(f"{experiment.sentence}; its results go to {short_path(experiment.folder)}")
    constant = multirun.parsed(given.overrides, searches=True)[0]
    if (
        multirun.current is None or multirun.current.searches
    ):  # before Hydra calls what its node names
        composing.compose(constant)
    composing.check_hydra_choices(constant, given.overrides)
    statuses: list[int] = []

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def job(cfg: Any) -> float | None:
        from hydra.core.hydra_config import HydraConfig

        own = HydraConfig.get()
        composed = composing.plain(cfg, own.runtime.choices.get("experiment"))
        settings = composing.settings_of(composed, given.overrides)
        if given.multirun:
            return _job(settings, list(own.overrides.task), own.job.num)
        statuses.append(run_settings(settings))
        return None

    sys.argv = [sys.argv[0], *composing.free_paths(arguments)]
    logging.getLogger("hydra").setLevel(logging.WARNING)  # a job says itself that it has run
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us whole, to be told in our way
    try:
        with composing.hydra_mistakes(arguments):
            job()
        return max([*statuses, multirun.current.status if multirun.current else 0])
    finally:
        multirun.current = None


def _job(settings: Settings, overrides: list[str], number: int) -> float | None:
    """Compute the cells of one job of a multirun; the process that was called draws. Returns what a
    sweeper that searches minimises."""
    from harness.commands import drawing, multirun
    from harness.commands.experiment import Experiment
    from harness.execute import supervise
    from harness.execute.run import RunInterruptedError

    experiment = Experiment.of_settings(settings)
    going = multirun.current
    name = going.name(number, overrides) if going else f"job {number + 1} ({', '.join(overrides)})"
    later = going.later(experiment) if going else 0.0
    try:
        status = _compute(experiment, finish=False, later=later, name=name)
    except RunInterruptedError as stop:
        # any other exception would let Hydra start the next job
        kind = supervise.TerminatedError if stop.terminated else KeyboardInterrupt
        raise kind(str(stop)) from None
    if going:
        going.ended(experiment, overrides, status)
    return drawing.mean_rmse(experiment) if going is None or going.searches else None
