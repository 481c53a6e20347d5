"""What the paper's study costs: its three bounds on four functions, 64 samples at every n. The paper says about four minutes, for
sizes up to 10^7, of one machine that it does not name; whether for one function or for all is not known."""

import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import items, panels
from harness.report.style import COLOURS

PRINTED = "64 repeats, n up to 10,000,000"


def cells(records):
    """One row per cell that gave a number."""
    return items.with_number(records).drop_duplicates("key")


def printed(config):
    """The paper's seconds."""
    return items.printed(config, "study").set_index("row").loc[PRINTED, "value"]


def render(records, config):
    """Left: mean CPU seconds of one bound on one sample against n. Right: CPU seconds of the whole study by method, and the
    paper's."""
    found = cells(records)
    if not len(found):
        return panels.nothing()
    figure, ((left, right),) = panels.grid(1, 2, 2.6)
    bounds.lines(left, found, config, "cpu_seconds")
    left.set(xlabel=panels.N_AXIS, ylabel="CPU seconds, one sample")
    chosen, sums = items.chosen(config, found), found.groupby("estimator")["cpu_seconds"].sum()
    bars = [(bounds.name(e, config), sums[e], bounds.style(e, i)["color"]) for i, e in enumerate(chosen)]
    bars += [("sum of the bounds", sums[chosen].sum(), "0.35")] * (len(chosen) > 1)
    names, values, colours = zip(*bars)
    right.barh(names, values, color=colours, height=0.6)
    wall, paper = items.wall_clock(records, config), printed(config)
    if wall == wall:
        right.axvline(wall, color="0.2", linestyle=":", label=f"wall clock, {wall:.3g} s, samples drawn")
    right.axvline(paper, color=COLOURS[1], linestyle="--", label=f"paper, about {paper:.0f} s")
    right.invert_yaxis()
    right.set_xlim(0.0, None)
    right.grid(axis="y", visible=False)
    right.set_xlabel(f"CPU seconds, {found['problem'].nunique()} functions, {found['rep'].nunique()} samples")
    panels.legend(figure, [left, right], columns=3)
    return figure


def table(records, config):
    """Rows: the methods, their sum, the sum of one function (mean), wall-clock seconds of the cells and of the runs (with the
    samples drawn), the paper. Columns: n, all n."""
    found = cells(records)
    count = max(found["problem"].nunique(), 1)

    def row(part, column="cpu_seconds", share=1.0):
        by = part.groupby("n")[column].sum() * share
        return {f"n = {n:,}": f"{seconds:.3g}" for n, seconds in by.items()} | {"all n": f"{by.sum():.3g}"}

    rows = {f"{bounds.plain(e, config)}, CPU seconds": row(found[found["estimator"].eq(e)]) for e in items.chosen(config, found)}
    rows["all of them, CPU seconds"] = row(found)
    rows["one function (mean), CPU seconds"] = row(found, share=1.0 / count)
    rows["all of them, wall-clock seconds of the cells"] = row(found, "seconds")
    wall = items.wall_clock(records, config)
    rows["the runs, wall-clock seconds, samples drawn"] = {"all n": f"{wall:.3g}" if wall == wall else "–"}
    rows["paper, about"] = {"all n": f"{printed(config):.3g}"}
    heading = f"seconds for {count} functions and {found['rep'].nunique()} samples each"
    return items.wide(rows, ["what"], heading, bounds.sizes(found))


def reproduced(records, config):
    """CPU seconds of all cells, of other hardware and so not judged."""
    found, why = cells(records), config["reasons"]["seconds"]
    total = {"value": found["cpu_seconds"].sum(), "reps": found["rep"].nunique(), "keys": tuple(found["key"])}
    return items.answers(items.numbers(pd.DataFrame([total]), PRINTED, "seconds", "value", None, why=why), config)
