"""`calharness plan`: what a run would do."""

from __future__ import annotations

from harness.commands.base import Overrides, short_path


def command(overrides: Overrides = None) -> int:
    """Print what a run would compute, and how long it would take.

    Nothing is run.

    \b
    calharness plan experiment=arena
    calharness plan experiment=arena 'n=[200,1000]' reps=5 jobs=2

    Takes what a run takes (`calharness help run`).
    """
    from harness.commands import multirun
    from harness.commands.plan_text import describe_plan

    for experiment in multirun.experiments_of(overrides or []):
        print(
            f"{experiment.name} in {short_path(experiment.out)}, results in {short_path(experiment.folder)}"
        )
        for one in experiment.family:
            if experiment.others and one.plan.cells:
                own = one is experiment
                print("of its own:" if own else f"of {one.name}, whose records it uses:")
            if one.plan.cells:
                print(describe_plan(one.plan, one.out))
            for source in one.sources:
                print(f"records from outside: {source.described()}")
    return 0
