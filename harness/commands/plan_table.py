"""Describe a plan as text: cells by estimator, reasons of skipped cells, and expected time."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from harness.common.progress import clock
from harness.common.tables import text_table
from harness.common.wording import format_count
from harness.execute.pending import Costs, pending, worker_count
from harness.plan.plan import Plan


def describe(plan: Plan, out: Path) -> str:
    """Return a description of a plan whose records are in the folder `out`.

    It has a table with the numbers of cells by estimator (to do, done, skipped), the reasons why
    cells are skipped, and a line with the totals and the expected time.
    """
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
    basis = " (from earlier records)" if counts["todo"] else ""
    if not all(costs.seconds(kind)[1] for kind in tally.kinds):
        basis = " (partly guessed, because earlier records are missing)"
    lines.append(
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, "
        f"{counts['skipped']:,} skipped, {counts['todo']:,} to do, "
        f"about {clock(costs.total(tally.kinds) / workers)} "
        f"on {format_count(workers, 'worker')}{basis}"
    )
    return "\n".join(lines)
