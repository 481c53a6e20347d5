"""`calharness plan`: what a run would do, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from harness.common.progress import clock
from harness.plan.pending import Costs, pending, worker_count
from harness.plan.plan import Plan


def describe_plan(plan: Plan, out: Path) -> str:
    """Say what a run would do: cells to do, done and skipped by estimator, the reasons of the skips, and the time."""
    tally, costs = pending(plan, out).tally, Costs(plan, out)
    todo, seconds, skipped = Counter[str](), defaultdict[str, float](float), Counter[str]()
    for kind, cells in tally.kinds.items():
        todo[kind[2]] += cells
        seconds[kind[2]] += cells * costs.seconds(kind)[0]
    for (name, _), cells in tally.reasons.items():
        skipped[name] += cells
    width = max(len(name) for name in plan.estimators) + 2
    lines = [f"{'estimator':<{width}}{'to do':>9}{'done':>9}{'skipped':>9}{'CPU time to do':>17}"]
    for name in plan.estimators:
        done = tally.planned[name] - skipped[name] - todo[name]
        numbers = f"{todo[name]:>9,}{done:>9,}{skipped[name]:>9,}{clock(seconds[name]):>17}"
        lines.append(f"{name:<{width}}{numbers}")
    for (name, reason), count in tally.reasons.items():
        lines.append(f"  skipped {count:,} of {name}: {reason}")
    counts, workers = tally.counts, worker_count(plan.settings)
    shards = plan.settings.shards
    shard = f" (shard {plan.settings.shard} of {shards})" if shards > 1 else ""
    known = ", by past records" if counts["todo"] else ""
    if not all(costs.seconds(kind)[1] for kind in tally.kinds):
        known = ", partly guessed for want of past records"
    lines.append(
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, {counts['skipped']:,} skipped, "
        f"{counts['todo']:,} to do, about {clock(costs.total(tally.kinds) / workers)} on {workers} "
        f"worker{'s' if workers > 1 else ''}{known}"
    )
    return "\n".join(lines)
