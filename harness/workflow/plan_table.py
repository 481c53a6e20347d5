"""Describe a plan as text: cells by estimator, reasons of skipped cells, and expected time."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from harness.common.tables import text_table
from harness.common.wording import format_count
from harness.execute.pace import Pace
from harness.execute.pending import pending, worker_count
from harness.plan.cells import Kind
from harness.plan.plan import Plan
from harness.records import reader


def describe(plan: Plan, out: Path) -> str:
    """Return a description of a plan whose records are in the folder `out`.

    It has a table with the numbers of cells by estimator (to do, done, skipped), the reasons why
    cells are skipped, and a line with the totals. Times are those that earlier records suggest.
    """
    tally = pending(plan, out).tally
    past = reader.seconds_per_cell(out)
    todo, skipped = Counter[str](), Counter[str]()
    kinds = defaultdict[str, dict[Kind, int]](dict)
    for kind, cells in tally.kinds.items():
        todo[kind[2]] += cells
        kinds[kind[2]][kind] = cells
    for (name, _), cells in tally.reasons.items():
        skipped[name] += cells
    rows = []
    for name in plan.estimators:
        done = tally.planned[name] - skipped[name] - todo[name]
        time = Pace(plan, kinds[name], past).left(workers=1).text if todo[name] else "0 s"
        rows.append((name, todo[name], done, skipped[name], time))
    head = ("estimator", "to do", "done", "skipped", "CPU time to do")
    lines = [text_table(rows, head, right=range(1, 5), indent=0)]
    for (name, reason), count in tally.reasons.items():
        lines.append(f"  skipped {count:,} of {name}: {reason}")
    counts, workers = tally.counts, worker_count(plan.settings)
    shards = plan.settings.shards
    shard = f" (shard {plan.settings.shard} of {shards})" if shards > 1 else ""
    line = (
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, "
        f"{counts['skipped']:,} skipped, {counts['todo']:,} to do"
    )
    if counts["todo"]:
        left = Pace(plan, tally.kinds, past).left(workers)
        basis = "from earlier records"
        if left.untimed:
            basis = "a run of a few replications, such as reps=2, times the others"
        line += f", {left.text} on {format_count(workers, 'worker')} ({basis})"
    lines.append(line)
    return "\n".join(lines)
