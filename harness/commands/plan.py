"""`calharness plan`: print the cells that a run would compute, and their expected time."""

from __future__ import annotations

from harness.commands.base import Overrides, read_run, short_path


def command(overrides: Overrides = None) -> int:
    """Print which cells a run would compute, and how long it would take. Nothing is computed.

    \b
    calharness plan experiment=arena
    calharness plan experiment=arena 'n=[200,1000]' reps=5 jobs=2

    The overrides are those of a run (`calharness help run`).
    """
    request = read_run(overrides or [])
    from harness.commands import multirun, plan_table

    for experiment in multirun.plan_experiments(request):
        folders = short_path(experiment.out), short_path(experiment.folder)
        print(f"{experiment.name} in {folders[0]}, results in {folders[1]}")
        for member in experiment.family:
            if experiment.others and member.plan.cells:
                is_own = member is experiment
                name = experiment.name if is_own else member.name
                print(f"cells of {name}:" if is_own else f"cells of {name}, which are used too:")
            if member.plan.cells:
                print(plan_table.describe(member.plan, member.out))
            for source in member.sources:
                print(f"records from files: {source.described()}")
    return 0
