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
    from harness.commands.experiment import Experiment
    from harness.configure.settings import Settings


class RunCommand(Command):
    """A command whose help ends with conf/config.yaml: all options with their defaults."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the options of conf/config.yaml, without Hydra's own."""
        settings = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
        lines = settings[settings.index("\nn:") + 1 :].splitlines()
        formatter.write("\nOverrides and their defaults (conf/config.yaml):\n")
        formatter.write("".join(f"  {line}".rstrip() + "\n" for line in lines))


def command(overrides: Overrides = None) -> int:
    """Compute the cells that have no record, then draw.

    \b
    calharness experiment=berta2026_fig1
    calharness problem=[beta_wavy,dirichlet3_harmonic] 'estimator=[binned15,kde]' \\
      'n=[500,2000]' reps=20 name=mine
    calharness experiment=smoke estimator.binned15.bins=30 +problem.beta_calibrated.a=2

    An override is NAME=VALUE. Write a list in brackets and quote it: 'n=[500,2000]'. Quote a text
    with spaces or signs twice: "title='a = b'". Add a parameter that the YAML of an id leaves out
    with +. +estimator=kde adds to the experiment's own estimators. After an interruption the same
    command goes on.

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
        return _run_hydra(words)
    from harness.configure.compose import compose

    return run_settings(compose(words))


def run_settings(settings: Settings) -> int:
    """Plan, compute and draw a composed configuration. Returns the exit status."""
    from harness.commands import file_diagrams, profile, summary
    from harness.commands.experiment import Experiment

    began = time.time()
    with profile.stage("plan"):
        experiment = Experiment.of_settings(settings)
    summary.announce(experiment)
    for line in file_diagrams.notes(experiment):
        print(line)
    counts, frame, status = _compute(experiment, experiment.name)
    failed = frame.loc[frame["status"].eq("failed"), "key"].nunique()
    missing = experiment.missing(frame) - failed
    if missing > 0:
        print(
            f"  {missing:,} cells of other shards or runs are missing; `calharness report ...` "
            "draws once they are there"
        )
    if missing <= 0 or settings.shards == 1:
        with profile.stage("figures"):
            status = max(status, summary.finish(experiment, frame, redraw=counts["todo"] > 0))
    if settings.profile:
        table = profile.table(experiment.records(), began)
        path = experiment.folder / f"{experiment.stem}_profile.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
        print(f"\n{profile.text(table)}\n  {'profile':<14}{short_path(path)}")
    return status


def _compute(experiment: Experiment, name: str) -> tuple[dict[str, Any], Any, int]:
    """Compute the missing cells and print a summary. Returns counts, records and exit status."""
    from harness.commands import profile, summary

    started = time.monotonic()
    with profile.stage("compute"):
        counts = experiment.compute()
    with profile.stage("read"):
        frame = experiment.records(to_draw=True)
    print(
        f"{name}: {counts['cells']:,} cells, {counts['done']:,} done before, "
        f"{counts['todo']:,} computed, {counts['skipped']:,} skipped, {counts['failed']:,} failed"
        f"{summary.imported(experiment, frame)}, {time.monotonic() - started:.1f} s"
    )
    status = max(summary.print_failures(frame, counts), int(counts["failed"] > 0))
    return counts, frame, status


def _run_hydra(arguments: list[str]) -> int:
    """Run a line that has flags of Hydra: -m, --cfg and others. Returns the exit status."""
    import hydra
    from hydra._internal.utils import get_args_parser
    from hydra.core.hydra_config import HydraConfig

    from harness.commands import multirun, summary
    from harness.configure import compose as composing
    from harness.configure import hydra_source

    arguments = composing.check_flags(arguments)
    hydra_source.register()
    given = get_args_parser().parse_args(arguments)
    constant = multirun.parse(given.overrides, searches=True)[0]
    if given.multirun:
        if any(text.lstrip("+").lower() == "profile=true" for text in given.overrides):
            raise BadInputError(
                "profile=true is of one run; leave out -m, or profile one of its jobs."
            )
        multirun.current = multirun.Multirun(given.overrides)
        for experiment in multirun.current.experiments:
            summary.announce(experiment)
    if not multirun.current or multirun.current.searches:
        # checks the configuration before Hydra calls code that it names
        composing.compose(constant)
    composing.check_hydra_choices(constant, given.overrides)
    statuses = [0]

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def job(cfg: Any) -> float | None:
        config = HydraConfig.get()
        plain = composing.plain(cfg, config.runtime.choices.get("experiment"))
        settings = composing.settings_of(plain, given.overrides)
        if given.multirun:
            return _run_job(settings, list(config.overrides.task), config.job.num)
        statuses.append(run_settings(settings))
        return None

    sys.argv = [sys.argv[0], *composing.free_paths(arguments)]
    logging.getLogger("hydra").setLevel(logging.WARNING)  # each job prints its own summary
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises errors, and prints none
    try:
        with composing.hydra_mistakes(arguments):
            job()
        if multirun.current:
            return multirun.current.draw(summary.finish_recorded)
        return max(statuses)
    finally:
        multirun.current = None


def _run_job(settings: Settings, overrides: list[str], number: int) -> float | None:
    """Compute the cells of a job of a multirun.

    The process that was called draws when all jobs have ended. A launcher may start jobs in other
    processes, where `multirun.current` is None. Returns the number that a searching sweeper
    minimises.
    """
    from harness.commands import drawing, multirun
    from harness.commands.experiment import Experiment
    from harness.execute import supervise
    from harness.execute.run import RunInterruptedError

    experiment = Experiment.of_settings(settings)
    whole = multirun.current
    name = f"job {number + 1} ({', '.join(overrides)})"
    try:
        status = _compute(experiment, whole.job_name(number, overrides) if whole else name)[2]
    except RunInterruptedError as stop:
        # after any other exception Hydra would start the next job
        kind = supervise.TerminatedError if stop.terminated else KeyboardInterrupt
        raise kind(str(stop)) from None
    if whole:
        whole.note(settings, overrides, status)
    return drawing.mean_rmse(experiment) if whole is None or whole.searches else None
