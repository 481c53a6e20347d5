"""The command line `calharness`: its commands, and the exit status for each kind of error."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from harness.commands import (
    check,
    compare,
    data,
    doctor,
    info,
    judge,
    listing,
    plan,
    report,
    results,
    run,
    site,
    status,
)
from harness.commands.base import HYDRA_SETTINGS, SETTINGS, Command, Commands
from harness.common import tables
from harness.common.escaping import escape
from harness.common.version import VERSION
from harness.errors import BadInputError, system_sentence
from harness.execute import processes, stops, supervise

NAME = "calharness"
COMPLETING = "_CALHARNESS_COMPLETE"  # set by the completion script of the shell
UsageError: Any = typer.BadParameter.__base__  # typer has no public name for it
EXPECTED = BadInputError, UsageError, OSError  # errors of wrong input

# {name of a command: (function, settings, class)}. `calharness --help` lists them in this order.
COMMANDS: dict[str, tuple[Callable[..., int], dict[str, Any], type[Command]]] = {
    "run": (run.command, HYDRA_SETTINGS, run.RunCommand),
    "judge": (judge.command, SETTINGS, judge.JudgeCommand),
    "list": (listing.command, SETTINGS, Command),
    "info": (info.command, SETTINGS, Command),
    "plan": (plan.command, HYDRA_SETTINGS, Command),
    "status": (status.command, SETTINGS, Command),
    "report": (report.command, HYDRA_SETTINGS, Command),
    "results": (results.command, SETTINGS, Command),
    "check": (check.command, SETTINGS, Command),
    "compare": (compare.command, SETTINGS, Command),
    "doctor": (doctor.command, SETTINGS, Command),
    "site": (site.command, SETTINGS, Command),
}
app = typer.Typer(cls=Commands, rich_markup_mode=None, context_settings=SETTINGS)
for _name, (_function, _settings, _class) in COMMANDS.items():
    app.command(_name, cls=_class, context_settings=_settings)(_function)
app.add_typer(data.app, name="data")


def main(argv: list[str] | None = None) -> int:
    """Run a command line. By default, its words are those of this process.

    Returns
    -------
    int
        Exit status: 0 for success, 1 if something failed, 2 for wrong input, 130 after Ctrl-C, 143
        after SIGTERM.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    trace = "--traceback" in arguments or os.environ.get("CALHARNESS_TRACEBACK") == "1"
    tables.wide = "--wide" in arguments
    arguments = [text for text in arguments if text not in ("--traceback", "--wide")]
    try:
        # SIGTERM from a job scheduler counts as an interruption: finished cells are recorded.
        stops.received.clear()
        signal.signal(signal.SIGTERM, stops.handle)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            # After a KeyboardInterrupt in `exec`, Python would end by SIGINT, not by our status.
            signal.signal(signal.SIGINT, stops.handle)
        if (folder := _working_folder()) not in sys.path:
            # The working folder is last, so that a user's file numpy.py does not replace numpy.
            sys.path.append(folder)
        with supervise.safe_path():
            return dispatch(arguments or ["--help"])
    except BrokenPipeError:  # the reader of a pipe has ended, as in `calharness list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as raised:
        error: BaseException = raised
        if stops.received and not isinstance(error, EXPECTED):
            error = stops.interruption(error)
        status = _exit_status(error)
        if trace or status is None:
            raise
        print(f"{NAME}: {escape(_sentence(error))}", file=sys.stderr)
        return status


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BadInputError("the working folder was deleted; change to another folder.") from None


def dispatch(arguments: list[str]) -> int:
    """Run the command that the first argument names, and return its exit status."""
    group = typer.main.get_command(app)
    if COMPLETING in os.environ:
        group.main(arguments, prog_name=NAME, complete_var=COMPLETING)  # exits
    try:
        # group.main would change the exit status of an interruption.
        with group.make_context(NAME, list(arguments)) as context:
            return int(group.invoke(context) or 0)
    except typer.Exit as end:  # after --help and --version
        return int(end.exit_code)


def _exit_status(error: BaseException) -> int | None:
    """Return the exit status for an expected error, or None for a defect of this package."""
    # Common mistakes are handled before the imports below, which take long.
    if isinstance(error, EXPECTED):
        return 2
    if isinstance(error, KeyboardInterrupt):
        return 143 if isinstance(error, stops.TerminatedError) else 130
    if isinstance(error, stops.RunInterruptedError):
        return 143 if error.terminated else 130
    from harness.execute.chunk import CellFailedError

    return 1 if isinstance(error, (CellFailedError, processes.WorkerDiedError)) else None


def _sentence(error: Any) -> str:
    """Return the message of an error on one line, with a remedy."""
    if isinstance(error, UsageError):
        message = " ".join(error.format_message().split()).rstrip(".")
        path = error.ctx.command_path if error.ctx is not None else NAME
        name = path.removeprefix(NAME).strip()
        return f"{name}: {message}; `{path} --help` shows its usage." if name else f"{message}."
    if isinstance(error, OSError):
        return system_sentence(error)
    return str(error) or "interrupted"


def _print_version(asked: bool) -> None:
    if asked:
        print(f"{NAME} {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            help="Print the whole traceback of an error. The flag may follow the command too.",
        ),
    ] = False,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide",
            help="Do not fit tables and lists to the terminal: print whole lines, as in a pipe. "
            "The flag may follow the command too.",
        ),
    ] = False,
) -> None:
    """Compare estimators of calibration error on problems whose true error is known.

    \b
    calharness experiment=berta2026_fig1                   run, resume, draw
    calharness experiment=arena problem=[a,b] n=[500,5000] reps=20
    calharness -m experiment=smoke estimator.binned15.bins=5,10,20   a sweep: one table, one figure
    calharness experiment=arena +estimator.mine._target_=my_module.Mine

    \b
    calharness judge preds.csv --html report.html          how far from calibrated is a model?
    calharness list estimators                             also problems, experiments, papers
    calharness help COMMAND                                also COMMAND --help

    Your predictions (npz, csv, parquet) with estimators of your choice:

    \b
    calharness problem=predictions problem.predictions.path=preds.npz \\
      'estimator=[binned15,debiased15,variational_isotonic,certified_interval]'

    Without a command, all words are overrides of a run, in Hydra's grammar (`calharness help run`).
    Exit status: 0 success, 1 something failed, 2 wrong input, 130 interrupted.
    """


@app.command("help", cls=Command, context_settings=SETTINGS)
def show_help(
    command: Annotated[
        str | None, typer.Argument(autocompletion=lambda incomplete: list(COMMANDS))
    ] = None,
) -> int:
    """Print the help of a command. `calharness COMMAND --help` prints the same."""
    return dispatch([command, "--help"] if command else ["--help"])
