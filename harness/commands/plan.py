"""`calharness plan`: the cells that a run would compute, and their expected time."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.base import Overrides, short_path
from harness.common.progress import clock
from harness.common.tables import text_table
from harness.common.wording import format_count

if TYPE_CHECKING:
    from harness.plan.plan import Plan


def command(overrides: Overrides = None) -> int:
    """Print what a run would compute, and how long it would take.

    Nothing is run.

    \b
    calharness plan experiment=arena
    calharness plan experiment=arena 'n=[200,1000]' reps=5 jobs=2

    Takes the overrides of a run (`calharness help run`).
    """
    from harness.commands import multirun

    for experiment in multirun.experiments_of(overrides or []):
        folders = short_path(experiment.out), short_path(experiment.folder)
        print(f"{experiment.name} in {folders[0]}, results in {folders[1]}")
        for member in experiment.family:
            if experiment.others and member.plan.cells:
                is_own = member is experiment
                print("its own cells:" if is_own else f"cells of {member.name}, used here:")
            if member.plan.cells:
                print(describe_plan(member.plan, member.out))
            for source in member.sources:
                print(f"records from outside: {source.described()}")
    return 0


def describe_plan(plan: Plan, out: Path) -> str:
    """Describe a plan.

    Returns a table of the cells by estimator (to do, done, skipped), the reasons of the skips, and
    a line with the totals and the expected time.
    """
    from harness.plan.pending import Costs, pending, worker_count

    tally, costs = pending(plan, out).tally, Costs(plan, out)
    todo, skipped = Counter[str](), Counter[str]()
    seconds = defaultdict[str, float](float)
    for kind, cells in tally.kinds.items():
        name = kind[2]
        todo[name] += cells
        seconds[name] += cells * costs.seconds(kind)[0]
    for (name, _), cells in tally.reasons.items():
        skipped[name] += cells
    rows = []
    for name in plan.estimators:
        done = tally.planned[name] - skipped[name] - todo[name]
        rows.append((name, todo[name], done, skipped[name], clock(seconds[name])))
    head = ("estimator", "to do", "done", "skipped", "CPU time to do")
    lines = [text_table(rows, head, right=range(1, 5), indent=0)]
    for (name, reason), count in tally.reasons.items():
        lines.append(f"  skipped {count:,} of {name}: {reason}")
    counts, workers = tally.counts, worker_count(plan.settings)
    shards = plan.settings.shards
    shard = f" (shard {plan.settings.shard} of {shards})" if shards > 1 else ""
    basis = ", by past records" if counts["todo"] else ""
    if not all(costs.seconds(kind)[1] for kind in tally.kinds):
        basis = ", partly guessed for want of past records"
    lines.append(
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, "
        f"{counts['skipped']:,} skipped, {counts['todo']:,} to do, "
        f"about {clock(costs.total(tally.kinds) / workers)} "
        f"on {format_count(workers, 'worker')}{basis}"
    )
    return "\n".join(lines)
