"""`calharness plan`: print the cells that a run would compute, and their expected time."""

from __future__ import annotations

from harness.commands.base import Overrides, read_run
from harness.common.paths import short_path


def command(overrides: Overrides = None) -> int:
    """Print which cells a run would compute, and how long it would take. Nothing is computed.

    \b
    calharness plan experiment=arena
    calharness plan experiment=arena 'n=[200,1000]' reps=5 jobs=2

    The overrides are those of a run (`calharness help run`).
    """
    request = read_run(overrides or [])
    from harness.records.plan_records import sources
    from harness.workflow import multirun, plan_table

    for experiment in multirun.plan_experiments(request):
        identity, records = experiment.identity, experiment.records
        folders = short_path(records.out), short_path(identity.folder)
        print(f"{experiment.settings.run_name} in {folders[0]}, results in {folders[1]}")
        for plan in records.plans:
            if len(records.plans) > 1 and plan.cells:
                others = "" if plan is experiment.plan else ", which are used too"
                print(f"cells of {plan.settings.run_name}{others}:")
            if plan.cells:
                print(plan_table.describe(plan, records.out))
            for source in sources(plan):
                print(f"records from files: {source.described()}")
    return 0
