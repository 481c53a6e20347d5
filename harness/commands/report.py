"""`calharness report`: draw results again from their records."""

from __future__ import annotations

from harness.commands.base import Overrides, read_run


def command(overrides: Overrides = None) -> int:
    """Draw figures, tables and pages again from the records. No cell is computed.

    \b
    calharness report experiment=berta2026_fig1
    calharness report experiment=smoke estimand=l2_squared figure.dpi=300

    The overrides are those of a run (`calharness help run`).
    """
    request = read_run(overrides or [])
    from harness.workflow import drawing, multirun, summary

    status = 0
    for experiment in multirun.plan_experiments(request):
        frame = experiment.records.read(to_draw=True)
        summary.print_recorded(experiment, frame)
        drawing.require_records(experiment, frame)
        status = max(status, summary.finish(experiment, frame, redraw=True))
    return status
