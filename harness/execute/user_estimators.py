"""A stranger's estimator, watched: where a cell of it takes too long, or takes its process down, the run stops and says which.
What was finished is recorded, as in any run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from harness.errors import BadInputError
from harness.execute import run, supervise
from harness.plan import pending as work
from harness.plan.cells import Cell
from harness.plan.plan import Plan


class TooSlowError(BadInputError):
    """A call took longer than its limit."""


def execute(
    plan: Plan, out: Path, limit: float, first: Callable[[list[Cell]], list[Cell]], judge: Callable[[], None]
) -> dict[str, Any]:
    """Compute the cells of a plan that no record holds.

    Parameters
    ----------
    plan : Plan
        Its configuration says on how many processes (`jobs`).
    out : Path
        Folder of results.
    limit : float
        Seconds that a cell may take.
    first : function
        Chooses of the cells to do those that are computed before all others.
    judge : function
        Called when they are recorded; raises what stops the run.

    Returns
    -------
    dict
        The counts of `work.pending`.

    Raises
    ------
    BadInputError
        If a cell takes longer than the limit, or its process dies: with estimator, problem, n and rep.
    """
    plan = replace(plan, settings=replace(plan.settings, out=str(out), engine="loky", cell_timeout=limit))
    pending = work.pending(plan, out)
    counts = pending.counts
    begin = first([cell for group in pending.samples() for cell in group])

    def broke(cell: Cell, how: supervise.Broke) -> None:
        which = f"{plan.estimators[cell.estimator].id} on {plan.problems[cell.problem].id}, n = {cell.n}, rep {cell.rep},"
        remedy = "; limit=SECONDS allows more" if how.limit == "cell_timeout" else ""
        raise BadInputError(f"{which} {how.reason}{remedy}.")

    if begin:
        one = replace(plan.settings, jobs=1)
        run.execute(replace(plan, cells=begin, settings=one), quiet=True, broke=broke)
    judge()
    run.execute(plan, broke=broke)
    return counts


def call(function: str, argument: Any, limit: float, what: str) -> Any:
    """What a function of ours, "module:name", returns of an argument, in a process of its own.

    Raises
    ------
    BadInputError
        If the function raises it, takes longer than `limit` seconds, or dies; `what` begins these sentences.
    """
    child, began = supervise.Child("harness.execute.child:call"), time.monotonic()
    try:
        child.pipe.send((list(sys.path), function, argument))
        while True:
            wait([child.pipe], supervise.POLL_SECONDS)
            try:
                told = child.told()
            except supervise.EndedError as how:
                raise BadInputError(f"{what} {how}.") from None
            if told and told[0] == "returned":
                return told[1]
            if told:
                raise BadInputError(told[1])
            if time.monotonic() - began > limit:
                raise TooSlowError(f"{what} took longer than {limit:g} s and was stopped")
    finally:
        child.kill()
