"""What the paper's study costs: its three bounds on four functions, 64 samples at every n. The paper says about four minutes, for
sizes up to 10^7, of one machine that it does not name; whether for one function or for all is not known."""

import pandas as pd

from harness.evaluation import items, text_tables
from harness.figures.style import COLOURS

from . import bounds, costs, rates

PRINTED = "64 repeats, n up to 10,000,000"


def printed(settings) -> float:
    """The paper's seconds."""
    return items.printed(settings, "study")["value"].iloc[0]


def render(records, settings):
    """costs.figure of the bounds, with the wall-clock seconds and the paper's."""
    found, wall, paper = (
        costs.cells(records),
        rates.wall_clock(records, settings),
        printed(settings),
    )
    lines = [
        (wall, {"color": "0.2", "linestyle": ":", "label": f"wall clock, {wall:.3g} s"}),
        (paper, {"color": COLOURS[1], "linestyle": "--", "label": f"paper, about {paper:.0f} s"}),
    ]
    return costs.figure(
        found, bounds.looks(found, settings), "sum of the bounds", "functions", lines
    )


def table(records, settings):
    """Seconds at every n and at all n: of the bounds, all of them, one function (mean), by the wall clock, and the paper's."""
    found, wall, paper = (
        costs.cells(records),
        rates.wall_clock(records, settings),
        printed(settings),
    )
    by, count = found.groupby("estimator"), max(found["problem"].nunique(), 1)
    rows = {
        f"{bounds.plain(e, settings)}, CPU seconds": costs.row(by.get_group(e))
        for e in items.chosen(settings, found)
    }
    rows["all of them, CPU seconds"] = costs.row(found)
    rows["one function (mean), CPU seconds"] = costs.row(found, share=1.0 / count)
    rows["all of them, wall-clock seconds of the cells"] = costs.row(found, "seconds")
    rows["the runs, wall-clock seconds, samples drawn"] = {
        "all n": f"{wall:.3g}" if wall == wall else "–"
    }
    rows["paper, about"] = {"all n": f"{paper:.3g}"}
    heading = f"seconds for {count} functions and {found['rep'].nunique()} samples each"
    return text_tables.wide(rows, ["what"], heading, rates.size_columns(found))


def reproduced(records, settings):
    """CPU seconds of all cells, of other hardware and so not judged."""
    found, why = costs.cells(records), settings.reasons["seconds"]
    total = {
        "value": found["cpu_seconds"].sum(),
        "reps": found["rep"].nunique(),
        "keys": tuple(found["key"]),
    }
    return items.answers(
        items.numbers(pd.DataFrame([total]), PRINTED, "seconds", "value", None, why=why), settings
    )
