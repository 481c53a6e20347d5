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
  calharness check my_module.Mine                      contract test of an estimator, problem or calibrator
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
    started = time.monotonic()
    counts = experiment.compute()
    frame = experiment.records()
    missing = experiment.missing(frame)
    print(
        f"{experiment.name}: {counts['cells']:,} cells, {counts['done']:,} done before, {counts['todo']:,} computed, "
        f"{counts['skipped']:,} skipped, {counts['failed']:,} failed, {time.monotonic() - started:.1f} s"
    )
    failed = frame[frame["status"].eq("failed")]
    if len(failed):
        last = str(failed["reason"].iloc[0]).strip().splitlines()[-1]
        print(
            f"  {failed['key'].nunique():,} cells failed, the first with: {last}; they run again with the next run",
            file=sys.stderr,
        )
    if missing - failed["key"].nunique() > 0:
        print(f"  {missing:,} cells of other shards or runs are missing; `calharness report ...` draws once they are there")
        if config["shards"] > 1:
            return int(counts["failed"] > 0)
    if counts["todo"] or not len(frame) or not experiment.is_drawn(frame):
        _print_files(experiment, frame)
    else:
        _print_table(experiment, frame)
        page = experiment.folder / f"{experiment.stem}.html"
        print(f"  {'up to date':<14}{_short(page)}, with figure and tables beside it (`calharness report ...` draws them anew)")
    return int(len(failed) > 0)


def _print_table(experiment, frame):
    """The wide table of a run that is no paper's, if it fits on a screen."""
    from harness import rankings, tables

    if not experiment.paper and frame["status"].eq("ok").any():
        wide = (rankings.table if experiment.config["ranking"] else tables.wide)(frame, experiment.config)
        if wide.size <= 200:
            print(f"\n{wide.columns.name}\n{wide.rename_axis(columns=None).to_string()}\n")


def _print_files(experiment, frame):
    """Draw and write everything, and say where it is."""
    _print_table(experiment, frame)
    files, verdicts = experiment.render(frame)
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
    from omegaconf import OmegaConf

    from harness.config import CONF, hydra_mistakes

    failed = []

    @hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
    def job(cfg):
        failed.append(_run_config(OmegaConf.to_container(cfg, resolve=True)))

    sys.argv = [sys.argv[0], *arguments]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach us whole, to be told in our way
    with hydra_mistakes(arguments):
        job()
    return max(failed, default=0)


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
    from harness.problems.base import truth_of

    for notion in problem.default_notions:
        for name in estimands.names(notion):
            truth = truth_of(problem, name, notion)
            if truth is not None:
                print(f"{notion:<10} {name:<24} {truth.value:.10g} ± {truth.error:.1g}  {truth.method}")


def plan(overrides: list[str]) -> int:
    from harness import runner
    from harness.experiment import Experiment

    experiment = Experiment.of(overrides)
    print(f"{experiment.name} in {_short(experiment.out)}")
    print(runner.describe_plan(experiment.plan, experiment.out))
    return 0


def status(overrides: list[str]) -> int:
    from harness.doctor import status_text

    print(status_text(_out(overrides)))
    return 0


def report(overrides: list[str]) -> int:
    from harness.experiment import Experiment

    experiment = Experiment.of(overrides)
    frame = experiment.records()
    missing = experiment.missing(frame)
    print(f"{experiment.name}: {len(experiment.plan.cells) - missing:,} of {len(experiment.plan.cells):,} cells are recorded")
    _print_files(experiment, frame)
    return 0


def check(arguments: list[str]) -> int:
    from harness import check as contract
    from harness.errors import BadInput

    if len(arguments) != 1:
        raise BadInput(f"check takes one estimator, problem or calibrator, module.Name or an id, found {len(arguments)}.")
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
