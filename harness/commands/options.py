"""Options of `calharness` itself, which come before the name of a command."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.base import NAME
from harness.common.version import VERSION


def _print_version(asked: bool) -> None:
    if asked:
        print(f"{NAME} {VERSION}")
        raise typer.Exit


def command(
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
