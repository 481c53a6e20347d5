"""The command line `calharness`: its commands, and the exit status for each kind of error."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import typer

from harness.commands import (
    check,
    compare,
    data,
    doctor,
    info,
    judge,
    listing,
    options,
    plan,
    report,
    results,
    run,
    show_help,
    site,
    status,
)
from harness.commands.base import HYDRA_SETTINGS, NAME, SETTINGS, Command, Commands
from harness.commands.errors import EXPECTED, exit_status, sentence
from harness.common import tables
from harness.common.escaping import escape
from harness.errors import BadInputError
from harness.execute import stops, supervise

COMPLETING = "_CALHARNESS_COMPLETE"  # set by the completion script of the shell

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
    "help": (show_help.command, SETTINGS, Command),
}
app = typer.Typer(cls=Commands, rich_markup_mode=None, context_settings=SETTINGS)
for _name, (_function, _settings, _class) in COMMANDS.items():
    app.command(_name, cls=_class, context_settings=_settings)(_function)
app.add_typer(data.app, name="data")
app.callback()(options.command)


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
        sys.unraisablehook = stops.show_ignored
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
        status = exit_status(error)
        if trace or status is None:
            raise
        print(f"{NAME}: {escape(sentence(error))}", file=sys.stderr)
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
