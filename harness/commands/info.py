"""`calharness info`: describe an id."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.configure import catalogue


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            autocompletion=catalogue.any_id,
            help="An id, or module.Class for a class of your own.",
        ),
    ],
) -> int:
    """Describe a problem, estimator, experiment or calibrator.

    \b
    calharness info kde              docstring, every parameter with its default, notions, estimands
    calharness info beta_wavy        the same for a problem, and its true calibration errors
    calharness info berta2026_fig1   problems, estimators, number of cells, needed files
    calharness info my_module.Mine   a class of your own
    """
    from harness.plan import description

    description.describe(name)
    return 0
