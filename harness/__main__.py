"""Command line: calharness [run] OVERRIDES | list | info | plan | status | report | check | doctor | data."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

USAGE = """calharness: estimators of calibration error against problems with known truth

  calharness experiment=berta2026_fig1                 run, resume, draw (Hydra overrides; -m sweeps over jobs)
  calharness experiment=arena problem=[a,b] n=[500,5000] reps=20
  calharness problem=predictions problem.predictions.path=preds.npz 'estimator=glob(*)'
  calharness experiment=arena +estimator.mine._target_=my_module.Mine

  calharness list problems|estimators|experiments      what there is
  calharness info ID                                   what it is: formula, parameters, truths
  calharness plan OVERRIDES                            cells to do, done, skipped and why, time left; runs nothing
  calharness status [out=DIR]                          what the records hold
  calharness report OVERRIDES                          figure, tables and page from the records; runs nothing
  calharness check my_module.Mine                      contract test of an estimator
  calharness doctor [--compact] [OVERRIDES]            broken parts, duplicates, missing cells
  calharness data list|fetch NAME|verify               published files: where, how large, checksums
  calharness data fetch tabrepo [--datasets a,b] [--folds 0,1,2] [--table1] [--from URL] [--out DIR]
  calharness data make tabular_oof                     offline stand-in for TabRepo: models trained here (--help)
  calharness data make digits_networks                 small networks on scikit-learn's digits, trained here (seconds)
  calharness data make perturbed_networks              small classifiers trained with and without perturbed scores (minutes)
  calharness data make imagenet_brightness --images DIR  timm's networks on darker and brighter ImageNet images (--help)

Options are listed in conf/config.yaml: n, reps, notion, estimand, seed, jobs, engine, shard, shards, out ...
--traceback shows the whole trace of an error; -m, --cfg and the other flags are Hydra's.
Exit status: 0 fine, 1 something failed, 2 wrong input, 130 interrupted."""


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    trace = "--traceback" in arguments or os.environ.get("CALHARNESS_TRACEBACK") == "1"
    arguments = [a for a in arguments if a != "--traceback"]
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    signal.signal(signal.SIGTERM, _stop)  # a scheduler's warning counts as an interruption: what is done is written
    try:
        return dispatch(arguments)
    except BrokenPipeError:  # `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        code = _exit_code(error)
        if trace or code is None:
            raise
        return _say(str(error) or "interrupted", code)


def _exit_code(error):
    """The exit status of an error that is told in a sentence; None for one that is a defect of ours."""
    from harness.errors import BadInput
    from harness.runner import Interrupted, WorkerDied
    from harness.worker import CellFailed

    codes = ((BadInput, 2), (OSError, 2), (CellFailed, 1), (WorkerDied, 1), (Interrupted, 130), (KeyboardInterrupt, 130))
    return next((code for kind, code in codes if isinstance(error, kind)), None)


def dispatch(arguments: list[str]) -> int:
    commands = {
        "run": run, "list": list_, "info": info, "plan": plan, "status": status, "report": report, "check": check,
        "doctor": doctor, "data": data,
    }  # fmt: skip
    if not arguments or arguments[0] in ("help", "--help", "-h"):
        print(USAGE)
        return 0
    if arguments == ["--version"]:
        import harness

        print(f"calharness {harness.__version__}")
        return 0
    first, rest = arguments[0], arguments[1:]
    if first in commands:
        return commands[first](rest)
    if "=" not in first and not first.startswith(("-", "+", "~")):
        import difflib

        from harness.errors import BadInput

        close = difflib.get_close_matches(first, commands, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise BadInput(f"there is no command {first!r}{hint}; commands are {', '.join(commands)}, and options are NAME=VALUE.")
    return run(arguments)


def run(overrides: list[str]) -> int:
    if any(a.startswith("-") and a != "-" for a in overrides):
        return _through_hydra(overrides)
    from harness.config import compose

    return _run_config(compose(overrides))


def _run_config(config: dict) -> int:
    from harness.experiment import Experiment

    experiment = Experiment.of_config(config)
    if experiment.is_variation:
        from harness import variations

        print(f"{variations.sentence(config, experiment.differs)}; its results go to {_short(experiment.folder)}")
    return _compute(experiment, finish=True)


def _compute(experiment, finish: bool, later: float = 0.0, name: str | None = None) -> int:
    """Run what is not recorded, say what came of it, and, with `finish`, draw it. Returns the exit status."""
    started = time.monotonic()
    counts = experiment.compute(later=later)
    frame = experiment.records()
    print(
        f"{name or experiment.name}: {counts['cells']:,} cells, {counts['done']:,} done before, {counts['todo']:,} computed, "
        f"{counts['skipped']:,} skipped, {counts['failed']:,} failed, {time.monotonic() - started:.1f} s"
    )
    status = _say_failures(frame)
    if not finish:
        return status
    missing = experiment.missing(frame) - frame.loc[frame["status"].eq("failed"), "key"].nunique()
    if missing > 0:
        print(f"  {missing:,} cells of other shards or runs are missing; `calharness report ...` draws once they are there")
        if experiment.config["shards"] > 1:
            return int(counts["failed"] > 0)
    return max(status, _finish(experiment, frame, fresh=counts["todo"] > 0))


def _say_failures(frame) -> int:
    """One line on the cells that failed, if any; the exit status."""
    failed = frame[frame["status"].eq("failed")]
    if len(failed):
        last = str(failed["reason"].iloc[0]).strip().splitlines()[-1]
        print(
            f"  {failed['key'].nunique():,} cells failed, the first with: {last}; they run again with the next run",
            file=sys.stderr,
        )
    return int(len(failed) > 0)


def _finish(experiment, frame, fresh: bool) -> int:
    """Draw a result unless it is drawn already, and print its table. Returns the exit status: 1 where no cell has a number."""
    from harness import tables

    if not experiment.has_numbers(frame):
        for line in tables.reasons(frame, experiment.shown_config()):
            print(f"  {line}", file=sys.stderr)
        print(f"  no cell of {experiment.name} has a number, so no picture is drawn or overwritten", file=sys.stderr)
        if experiment.paper and not experiment.is_variation and len(frame) and not experiment.is_drawn_at_all():
            _print_files(experiment, frame)  # the page of a paper's item that says what is missing
        return 1
    if fresh or not experiment.is_drawn(frame):
        _print_files(experiment, frame)
    else:
        _print_table(experiment, frame)
        page = experiment.folder / f"{experiment.stem}.html"
        print(f"  {'up to date':<14}{_short(page)}, with figure and tables beside it (`calharness report ...` draws them anew)")
    return 0


def _print_table(experiment, frame):
    """The wide table of a run that is no paper's, if it fits on a screen, and the reasons of what is not in it."""
    from harness import tables

    if experiment.paper and not experiment.is_variation or not experiment.has_numbers(frame):
        return
    wide = experiment.wide(frame)
    if wide.size <= 200:
        print(f"\n{wide.columns.name}\n{wide.rename_axis(columns=None).to_string()}\n")
    for line in tables.reasons(frame, experiment.shown_config()):
        print(f"  {line}")


def _print_files(experiment, frame):
    """Draw and write everything, and say where it is."""
    _print_table(experiment, frame)
    files, verdicts, notes = experiment.render(frame)
    for note in notes:
        print(f"  note: {note}")
    for what, ends in (("figure", (".png", ".pdf", ".svg")), ("table", (".csv", ".parquet", ".tex")), ("page", (".html",))):
        same = [path for path in files if path.suffix in ends and path.stem == experiment.stem]
        others = f" ({', '.join(path.suffix for path in same[1:])})" if len(same) > 1 else ""
        print(f"  {what:<14}{_short(same[0])}{others}")
        if what == "table" and verdicts:
            compared = [_short(path) for path in files if path.stem.startswith("reproduction")]
            found = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.items() if count)
            print(f"  {'paper vs ours':<14}{', '.join(compared)}: {found}")


def _through_hydra(arguments):
    import hydra
    from hydra._internal.utils import get_args_parser

    from harness import multirun
    from harness.config import CONF, check_known, free_paths, hydra_mistakes, plain

    given = get_args_parser().parse_args(arguments)
    if given.multirun and multirun.is_basic(given.overrides):
        multirun.current = multirun.Multirun(given.overrides, _finish_job)
        for experiment in multirun.current.experiments:
            if experiment.is_variation:
                print(f"{'a sweep' if experiment.is_sweep else 'a variation'}; its results go to {_short(experiment.folder)}")
    failed = []

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def job(cfg):
        from hydra.core.hydra_config import HydraConfig

        own = HydraConfig.get()
        config = check_known(plain(cfg, own.runtime.choices.get("experiment")))
        if not given.multirun:
            failed.append(_run_config(config))
        else:
            return _job(config, list(own.overrides.task), own.job.num)

    sys.argv = [sys.argv[0], *free_paths(arguments)]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us whole, to be told in our way
    try:
        with hydra_mistakes(arguments):
            job()
        return max([*failed, multirun.current.status if multirun.current else 0])
    finally:
        multirun.current = None


def _job(config, overrides, number):
    """One job of a multirun: compute its cells; what several jobs add up to is drawn by the process that was called."""
    from harness import multirun
    from harness.experiment import Experiment
    from harness.runner import Interrupted

    experiment = Experiment.of_config(config)
    going = multirun.current
    name = going.name(number, overrides) if going else f"job {number + 1} ({', '.join(overrides)})"
    try:
        status = _compute(experiment, finish=False, later=going.later(experiment) if going else 0.0, name=name)
    except Interrupted:
        print("interrupted; what was finished is recorded, the same command goes on from there", file=sys.stderr)
        raise KeyboardInterrupt from None  # an exception would let Hydra start the next job
    if going:
        going.ended(experiment, status)
    return experiment.rmse()


def _finish_job(experiment) -> int:
    """Draw what the jobs of a multirun add up to; the exit status."""
    frame, cells = experiment.records(), len(experiment.plan.cells)
    print(f"{experiment.name}: {cells - experiment.missing(frame):,} of {cells:,} cells are recorded")
    return max(int(frame["status"].eq("failed").any()), _finish(experiment, frame, fresh=False))


def list_(arguments: list[str]) -> int:
    from harness.config import GROUPS, ids
    from harness.errors import BadInput

    names = [f"{group}s" for group in GROUPS]
    if len(arguments) != 1 or arguments[0] not in names:
        raise BadInput(f"list what? `calharness list` takes one of {', '.join(names)}, found {' '.join(arguments) or 'nothing'}.")
    for name in ids(arguments[0][:-1]):
        print(name)
    return 0


def info(arguments: list[str]) -> int:
    from harness.config import CONF, GROUPS, ids
    from harness.errors import BadInput

    if len(arguments) != 1:
        raise BadInput(f"info takes one id, found {len(arguments)}.")
    name = arguments[0]
    group = next((g for g in GROUPS if name in ids(g)), None)
    if group is None:
        from harness.config import guess

        every = [i for g in GROUPS for i in ids(g)]
        raise BadInput(f"there is no {name!r}{guess(name, every)}; `calharness list problems|estimators|experiments` shows all.")
    print(f"{group} {name}\n\n{(CONF / group / f'{name}.yaml').read_text().rstrip()}\n")
    if group != "experiment":
        _describe(group, name)
    return 0


def _describe(group, name):
    import inspect

    from harness.errors import BadInput
    from harness.nodes import load

    made = load(group, name, {})
    for part in [made, *(v for v in vars(made).values() if type(v).__module__.startswith("harness."))]:
        print(f"{type(part).__name__}: {inspect.getdoc(type(part))}\n")
    try:
        if hasattr(made, "members"):  # a family of problems
            ids = list(made.members())
            print(f"{len(ids):,} problems, from {ids[0]} to {ids[-1]}")
            return
        shown = {
            "problem": ("classes", "notions", "default_n", "default_reps", "version"),
            "estimator": ("notions", "estimands", "determinism", "max_n", "max_classes", "revision"),
        }[group]
        for attribute in shown:
            value = getattr(made, attribute, None)
            print(f"{attribute:<14}{', '.join(map(str, value)) if isinstance(value, tuple) else value}")
        if group == "problem":
            _print_truths(made)
    except BadInput as error:  # a problem whose file is not given yet
        print(error)


def _print_truths(problem):
    from harness import estimands

    for notion in problem.default_notions:
        for name in estimands.names(notion):
            truth = problem.truth(name, notion)
            if truth is not None:
                print(f"{notion:<10} {name:<24} {truth.value:.10g} ± {truth.error:.1g}  {truth.method}")


def plan(overrides: list[str]) -> int:
    from harness import multirun, runner
    from harness.experiment import Experiment

    several = [text for text in overrides if text in ("-m", "--multirun")]
    own = [text for text in overrides if text not in several]
    for experiment in multirun.results(own) if several else [Experiment.of(own)]:
        print(f"{experiment.name} in {_short(experiment.out)}, results in {_short(experiment.folder)}")
        print(runner.describe_plan(experiment.plan, experiment.out))
    return 0


def status(overrides: list[str]) -> int:
    from harness.doctor import status_text

    print(status_text(_out(overrides)))
    return 0


def report(overrides: list[str]) -> int:
    from harness import multirun
    from harness.experiment import Experiment

    several = [text for text in overrides if text in ("-m", "--multirun")]
    own = [text for text in overrides if text not in several]
    status = 0
    for experiment in multirun.results(own) if several else [Experiment.of(own)]:
        frame = experiment.records()
        cells = len(experiment.plan.cells)
        print(f"{experiment.name}: {cells - experiment.missing(frame):,} of {cells:,} cells are recorded")
        if not len(frame):
            experiment.render(frame)  # says that there is nothing
        status = max(status, _finish(experiment, frame, fresh=True))
    return status


def check(arguments: list[str]) -> int:
    from harness import check as contract
    from harness.errors import BadInput

    if len(arguments) != 1:
        raise BadInput(f"check takes one estimator, module.Name or an id, found {len(arguments)}.")
    findings = contract.check(arguments[0])
    print(contract.report(findings))
    return int(any(f.outcome == "failed" for f in findings))


def doctor(arguments: list[str]) -> int:
    from harness.config import compose, out_folder
    from harness.doctor import examine
    from harness.errors import BadInput

    overrides = [a for a in arguments if a != "--compact"]
    only_out = all(a.startswith("out=") for a in overrides)
    unknown = [a for a in overrides if a.startswith("-")]
    if unknown:
        raise BadInput(f"doctor has no option {unknown[0]!r}; it takes --compact and overrides NAME=VALUE.")
    out = _out(overrides) if only_out else out_folder(compose(overrides)["out"])
    text, problems = examine(out, None if only_out else overrides, compact="--compact" in arguments)
    print(text)
    return int(problems > 0)


def data(arguments: list[str]) -> int:
    from harness.sources import packs

    return packs.command(arguments)


def _out(overrides) -> Path:
    from harness.config import compose, out_folder
    from harness.errors import BadInput

    wrong = [text for text in overrides if not text.startswith("out=")]
    if wrong:
        raise BadInput(f"{wrong[0]!r} is no option here; only out=DIR is.")
    return out_folder(compose(overrides)["out"] if overrides else None)


def _short(path: Path) -> str:
    """Relative to the working folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


def _say(message, code):
    print(f"calharness: {message}", file=sys.stderr)
    return code


def _stop(signum, frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
