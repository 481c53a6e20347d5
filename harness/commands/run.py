"""Command line: calharness [run] OVERRIDES | judge | list | info | plan | status | report | check | compare | doctor | data |
site | completion | help."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from harness.common.escaping import EscapedStream, escape
from harness.execute import supervise

if TYPE_CHECKING:
    from harness.configure.settings import Settings

COMMANDS = (
    "run", "judge", "list", "info", "plan", "status", "report", "results", "check", "compare", "doctor", "data", "site",
    "completion",
)  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    trace = "--traceback" in arguments or os.environ.get("CALHARNESS_TRACEBACK") == "1"
    arguments = [a for a in arguments if a != "--traceback"]
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # behind what is installed: a file beside one's data cannot take the place of numpy
    signal.signal(
        signal.SIGTERM, supervise.terminated
    )  # a scheduler's warning counts as an interruption: what is done is written
    try:
        with supervise.safe_path(), _escaped_output():
            return dispatch(arguments)
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        code = _exit_code(error)
        if trace or code is None:
            raise
        from harness.errors import system_sentence

        return _say(system_sentence(error) if isinstance(error, OSError) else str(error) or "interrupted", code)


@contextlib.contextmanager
def _escaped_output():
    """Escape what is printed: ids, reasons, names of files and answers of servers may hold codes of a terminal."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(EscapedStream, streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def _exit_code(error):
    """The exit status of an error that is told in a sentence; None for one that is a defect of ours."""
    from harness.errors import BadInputError

    if isinstance(error, (BadInputError, OSError)):  # most mistakes are found before anything heavy is imported
        return 2
    from harness.execute.chunk import CellFailedError
    from harness.execute.run import RunInterruptedError, WorkerDiedError

    codes = (
        (CellFailedError, 1),
        (WorkerDiedError, 1),
        (supervise.TerminatedError, 143),
        (RunInterruptedError, 143 if getattr(error, "terminated", False) else 130),
        (KeyboardInterrupt, 130),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), None)


def dispatch(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from harness.common.version import VERSION

        print(f"calharness {VERSION}")
        return 0
    if arguments[:2] == ["completion", "words"]:  # at every tab; --help may be one of the words
        return completion(arguments[1:])
    from harness.commands import help as texts

    wanted = texts.asked(arguments, COMMANDS)
    if wanted is not None:
        print(texts.text(wanted or None))
        return 0
    commands = {
        "run": run, "judge": judge, "list": list_, "info": info, "plan": plan, "status": status, "report": report,
        "results": results, "check": check, "compare": compare, "doctor": doctor, "data": data, "site": site,
        "completion": completion,
    }  # fmt: skip
    first, rest = arguments[0], arguments[1:]
    if first in commands:
        return commands[first](rest)
    if "=" not in first and not first.startswith(("-", "+", "~")):
        raise no_command(first)
    return run(arguments)


def no_command(word):
    from harness.configure.catalogue import GROUPS
    from harness.configure.options import ids
    from harness.errors import BadInputError, guess

    group = next((g for g in GROUPS if word in ids(g)), None)
    hint = f" (did you mean {group}={word}?)" if group else guess(word, [*COMMANDS, "help"])
    return BadInputError(f"there is no command {word!r}{hint}; commands are {', '.join(COMMANDS)}, and options are NAME=VALUE.")


def list_(arguments: list[str]) -> int:
    from harness.commands import listing

    return listing.command(arguments)


def judge(arguments: list[str]) -> int:
    from harness.commands import judge as judged

    return judged.command(arguments)


def info(arguments: list[str]) -> int:
    from harness.commands import info as described

    return described.command(arguments)


def completion(arguments: list[str]) -> int:
    from harness.commands import completion as shell

    return shell.command(arguments)


def run(overrides: list[str]) -> int:
    if any(a.startswith("-") for a in overrides):
        return _through_hydra(overrides)
    from harness.configure.compose import compose

    return _run_settings(compose(overrides))


def _run_settings(settings: Settings) -> int:
    if not settings.profile:
        return _run_whole(settings)[1]
    from harness.configure.compose import out_folder
    from harness.execute import profile

    with profile.of_run(out_folder(settings.out)) as made:
        experiment, status = _run_whole(settings)
    _print_profile(experiment, made)
    return status


def _print_profile(experiment, made):
    """Print where the time of a run went, and write it beside its results."""
    from harness.execute import profile

    rows, stem = made.rows(), experiment.folder / f"{experiment.stem}_profile"
    table = profile.write(rows, Path(f"{stem}.csv"))
    print(f"\n{profile.text(rows)}\n  {'profile':<14}{_short(table)}")


def _run_whole(settings: Settings) -> tuple:
    from harness.commands.experiment import Experiment
    from harness.execute import profile

    with profile.stage("plan"):
        experiment = Experiment.of_settings(settings)
    if experiment.is_variation:
        print(f"{experiment.sentence}; its results go to {_short(experiment.folder)}")
    for line in experiment.notes():
        print(line)
    return experiment, _compute(experiment, finish=True)


def _compute(experiment, finish: bool, later: float = 0.0, name: str | None = None) -> int:
    """Run what is not recorded, print a summary and, with `finish`, draw it. Returns the exit status."""
    from harness.execute import profile

    started = time.monotonic()
    with profile.stage("compute"):
        counts = experiment.compute(later=later)
    with profile.stage("read"):
        frame = experiment.records(to_draw=True)
    print(
        f"{name or experiment.name}: {counts['cells']:,} cells, {counts['done']:,} done before, {counts['todo']:,} computed, "
        f"{counts['skipped']:,} skipped, {counts['failed']:,} failed{_imported(experiment, frame)}, "
        f"{time.monotonic() - started:.1f} s"
    )
    status = max(_say_failures(frame, counts), int(counts["failed"] > 0))
    if not finish:
        return status
    missing = experiment.missing(frame) - frame.loc[frame["status"].eq("failed"), "key"].nunique()
    if missing > 0:
        print(f"  {missing:,} cells of other shards or runs are missing; `calharness report ...` draws once they are there")
        if experiment.settings.shards > 1:
            return int(counts["failed"] > 0)
    with profile.stage("figures"):
        return max(status, _finish(experiment, frame, fresh=counts["todo"] > 0))


def _imported(experiment, frame):
    """', 12 imported' of a run that has records from outside."""
    if not any(one.sources for one in experiment.family):
        return ""
    return f", {frame.loc[~frame['key'].isin(experiment.cells), 'key'].nunique():,} imported"


def _say_failures(frame, counts) -> int:
    """One line on the cells that failed, if any, and one on those of a refresh that still have an earlier number; the exit
    status."""
    failed = frame[frame["status"].eq("failed")]
    cells = failed["key"].nunique()
    if cells:
        print(f"  {cells:,} cells failed, the first with: {_end(failed['reason'].iloc[0])}; they run again with the next run",
              file=sys.stderr)  # fmt: skip
    if counts["failed"] > cells:
        print(f"  {counts['failed'] - cells:,} cells failed when they were computed again, the first with: "
              f"{_end(counts['reason'])}; what is shown of them was recorded before", file=sys.stderr)  # fmt: skip
    return int(cells > 0)


def _end(reason):
    return str(reason).strip().splitlines()[-1]


def _finish(experiment, frame, fresh: bool) -> int:
    """Draw a result unless it is drawn already, and print its table. Returns the exit status: 1 where no cell has a number."""
    from harness.evaluate import missing

    if not experiment.has_numbers(frame):
        for line in missing.reasons(frame, experiment.shown_settings()):
            print(f"  {line}", file=sys.stderr)
        told = experiment.paper and not experiment.is_variation and len(frame) and not experiment.is_drawn_at_all()
        what = "its page says what is missing" if told else "no picture is drawn or overwritten"
        print(f"  no cell of {experiment.name} has a number, so {what}", file=sys.stderr)
        if told:
            _print_files(experiment, frame)
        return 1
    if fresh or not experiment.is_drawn(frame):
        _print_files(experiment, frame)
    else:
        _print_table(experiment, frame)
        page = _short(experiment.folder / f"{experiment.stem}.html")
        print(f"  {'up to date':<14}{page}, with figure and tables beside it (`calharness report ...` draws them anew)")
    return 0


def _print_table(experiment, frame):
    """Print the wide table of a run that fits on a screen, and the reasons of what it lacks. Of a paper's item print only the
    reasons of cells without a number: its page has the table."""
    from harness.evaluate import missing

    if not experiment.has_numbers(frame):
        return
    of_paper = experiment.paper and not experiment.is_variation
    if not of_paper:
        wide = experiment.wide(frame)
        if wide.size <= 200:
            print(f"\n{wide.columns.name}\n{wide.rename_axis(columns=None).to_string()}\n")
        else:
            print(f"  {len(wide):,} rows and {len(wide.columns)} columns are too many to be shown here; table and page have them")
    for line in missing.reasons(frame, experiment.shown_settings(), of_table=not of_paper):
        print(f"  {line}")


def _print_files(experiment, frame):
    """Draw and write everything, and say where it is."""
    from harness.configure.figure import FORMATS
    from harness.pages import index

    _print_table(experiment, frame)
    files, verdicts, notes = experiment.render(frame)
    for note in notes:
        print(f"  note: {note}")
    pictures = [f".{kind}" for kind in FORMATS]
    for what, ends in (("figure", pictures), ("table", (".csv", ".parquet", ".tex")), ("page", (".html",))):
        same = [path for path in files if path.suffix in ends and path.stem == experiment.stem]
        others = f" ({', '.join(path.suffix for path in same[1:])})" if len(same) > 1 else ""
        print(f"  {what:<14}{_short(same[0])}{others}")
        if what == "table" and verdicts:
            from harness.evaluate.reproduction import said

            compared = [_short(path) for path in files if path.stem.startswith("reproduction")]
            found = "; ".join(f"{source}: {said(held)}" for source, held in verdicts.items())
            print(f"  {'paper vs ours':<14}{', '.join(compared)}: {found}")
    if experiment.paper and not experiment.is_variation:
        print(f"  {'all results':<14}{_short(index.save(experiment.out))}")
    elif experiment.is_variation:
        from harness.pages import own_results

        print(f"  {'your runs':<14}{_short(own_results.save(experiment.out))}")


def _through_hydra(arguments):
    import logging

    import hydra
    from hydra._internal.utils import get_args_parser

    from harness.commands import multirun
    from harness.common.paths import CONF
    from harness.configure import hydra_source
    from harness.configure.compose import (
        check_flags,
        check_hydra_choices,
        compose,
        free_paths,
        hydra_mistakes,
        plain,
        settings_of,
    )
    from harness.errors import BadInputError

    arguments = check_flags(arguments)
    hydra_source.register()

    given = get_args_parser().parse_args(arguments)
    if given.multirun:
        if any(text.lstrip("+").lower() == "profile=true" for text in given.overrides):
            raise BadInputError("profile=true is of one run; leave out -m, or profile one of its jobs.")
        multirun.current = multirun.Multirun(given.overrides, _finish_job)
        for experiment in multirun.current.experiments:
            if experiment.is_variation:
                print(f"{experiment.sentence}; its results go to {_short(experiment.folder)}")
    if not given.multirun or multirun.current.searches:  # before Hydra calls what its node names
        compose(multirun.parsed(given.overrides, searches=True)[0])
    check_hydra_choices(multirun.parsed(given.overrides, searches=True)[0], given.overrides)
    failed = []

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def job(cfg):
        from hydra.core.hydra_config import HydraConfig

        own = HydraConfig.get()
        settings = settings_of(plain(cfg, own.runtime.choices.get("experiment")), given.overrides)
        if not given.multirun:
            failed.append(_run_settings(settings))
        else:
            return _job(settings, list(own.overrides.task), own.job.num)

    sys.argv = [sys.argv[0], *free_paths(arguments)]
    logging.getLogger("hydra").setLevel(logging.WARNING)  # a job says itself that it has run
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us whole, to be told in our way
    try:
        with hydra_mistakes(arguments):
            job()
        return max([*failed, multirun.current.status if multirun.current else 0])
    finally:
        multirun.current = None


def _job(settings, overrides, number):
    """One job of a multirun: compute its cells; what several jobs add up to is drawn by the process that was called."""
    from harness.commands import multirun
    from harness.commands.experiment import Experiment
    from harness.execute.run import RunInterruptedError

    experiment = Experiment.of_settings(settings)
    going = multirun.current
    name = going.name(number, overrides) if going else f"job {number + 1} ({', '.join(overrides)})"
    try:
        status = _compute(experiment, finish=False, later=going.later(experiment) if going else 0.0, name=name)
    except RunInterruptedError as said:
        kind = supervise.TerminatedError if said.terminated else KeyboardInterrupt
        raise kind(str(said)) from None  # an exception would let Hydra start the next job
    if going:
        going.ended(experiment, overrides, status)
    return experiment.rmse() if going is None or going.searches else None  # what a sweeper that searches makes small


def _finish_job(experiment) -> int:
    """Draw what the jobs of a multirun add up to; the exit status."""
    frame = experiment.records(to_draw=True)
    _say_recorded(experiment, frame)
    return max(int(frame["status"].eq("failed").any()), _finish(experiment, frame, fresh=False))


def _say_recorded(experiment, frame):
    """How many cells are recorded, and which truths are not."""
    cells = experiment.cell_count
    recorded = f"{cells - experiment.missing(frame):,} of {cells:,} cells are recorded{_imported(experiment, frame)}"
    print(f"{experiment.name}: {recorded}")
    missing = experiment.missing_truths(frame)
    if missing:
        name, pairs = next(iter(missing.items()))
        which = ", ".join(" ".join(pair) for pair in pairs[:3]) + (" and more" if len(pairs) > 3 else "")
        others = f" and of {len(missing) - 1:,} more problems" if len(missing) > 1 else ""
        print(f"  no truth is stored of {name} ({which}){others}: bias and coverage are empty there until it is run again")


def plan(overrides: list[str]) -> int:
    from harness.commands import multirun
    from harness.commands.experiment import Experiment
    from harness.plan import pending

    several = [text for text in overrides if text in ("-m", "--multirun")]
    own = [text for text in overrides if text not in several]
    for experiment in multirun.results(own) if several else [Experiment.of(own)]:
        print(f"{experiment.name} in {_short(experiment.out)}, results in {_short(experiment.folder)}")
        for one in experiment.family:
            if experiment.others and one.plan.cells:
                print(f"{'of its own' if one is experiment else f'of {one.name}, whose records it uses'}:")
            if one.plan.cells:
                print(pending.describe_plan(one.plan, one.out))
            for source in one.sources:
                print(f"records from outside: {source.described()}")
    return 0


def status(overrides: list[str]) -> int:
    from harness.commands.doctor import status_text

    print(status_text(_out(overrides)))
    return 0


def report(overrides: list[str]) -> int:
    from harness.commands import multirun
    from harness.commands.experiment import Experiment

    several = [text for text in overrides if text in ("-m", "--multirun")]
    own = [text for text in overrides if text not in several]
    status = 0
    for experiment in multirun.results(own) if several else [Experiment.of(own)]:
        frame = experiment.records(to_draw=True)
        _say_recorded(experiment, frame)
        if not len(frame):
            experiment.render(frame)  # says that there is nothing
        status = max(status, _finish(experiment, frame, fresh=True))
    return status


def site(arguments: list[str]) -> int:
    from harness.commands import site as whole

    return whole.command(arguments)


def results(arguments: list[str]) -> int:
    from harness.commands import results as every

    return every.command(arguments)


def check(arguments: list[str]) -> int:
    from harness.commands import check as contract
    from harness.errors import BadInputError

    if len(arguments) != 1:
        raise BadInputError(f"check takes one estimator, problem or calibrator, module.Name or an id, found {len(arguments)}.")
    findings = contract.check(arguments[0])
    print(contract.report(findings))
    return int(any(f.outcome == "failed" for f in findings))


def compare(arguments: list[str]) -> int:
    from harness.commands import compare as against

    return against.command(arguments)


def doctor(arguments: list[str]) -> int:
    from harness.commands.doctor import examine
    from harness.configure.compose import compose, out_folder
    from harness.errors import BadInputError

    overrides = [a for a in arguments if a not in ("--compact", "--repair")]
    only_out = all(a.startswith("out=") for a in overrides)
    unknown = [a for a in overrides if a.startswith("-")]
    if unknown:
        raise BadInputError(f"doctor has no option {unknown[0]!r}; it takes --compact, --repair and overrides NAME=VALUE.")
    out = _out(overrides) if only_out else out_folder(compose(overrides).out)
    text, problems = examine(
        out, None if only_out else overrides, compact="--compact" in arguments, repair="--repair" in arguments
    )
    print(text)
    return int(problems > 0)


def data(arguments: list[str]) -> int:
    from harness.commands import data as files

    return files.command(arguments)


def _out(overrides) -> Path:
    from harness.configure.compose import compose, out_folder
    from harness.errors import BadInputError

    wrong = [text for text in overrides if not text.startswith("out=")]
    if wrong:
        raise BadInputError(f"{wrong[0]!r} is no option here; only out=DIR is.")
    folder = out_folder(compose(overrides).out if overrides else None)
    if overrides and not folder.is_dir():
        raise BadInputError(f"out is {str(folder)!r}, where there is no folder; give one that a run wrote to.")
    return folder


def _short(path: Path) -> str:
    """Relative to the working folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


def _say(message, code):
    print(f"calharness: {escape(message)}", file=sys.stderr)
    return code
