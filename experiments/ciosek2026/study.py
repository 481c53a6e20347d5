"""CPU seconds of the paper's study: three bounds on four functions, with 64 samples for each n.

The summary of the paper reports about four minutes for n up to 10^7. It names no machine, and does
not say if this is the time of one function or of all four.
"""

import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures.style import COLOURS

from . import bounds, costs, rates

PRINTED = "64 repeats, n up to 10,000,000"


def printed(settings: Settings) -> float:
    """Return the seconds that the paper reports."""
    return float(items.printed(settings, "study")["value"].iloc[0])


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw `costs.figure` of the bounds, with lines at our wall-clock seconds and the paper's."""
    frame, wall, paper = (
        costs.cells(records),
        rates.wall_clock(records, settings),
        printed(settings),
    )
    lines = [
        (wall, {"color": "0.2", "linestyle": ":", "label": f"wall clock, {wall:.3g} s"}),
        (paper, {"color": COLOURS[1], "linestyle": "--", "label": f"paper, about {paper:.0f} s"}),
    ]
    return costs.figure(
        frame, bounds.looks(frame, settings), "sum of the bounds", "functions", lines
    )


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with the seconds for each n and in total.

    The rows are each bound, all bounds, the mean of one function, our wall clock, and the paper's.
    """
    frame, wall, paper = (
        costs.cells(records),
        rates.wall_clock(records, settings),
        printed(settings),
    )
    by, count = frame.groupby("estimator"), max(frame["problem"].nunique(), 1)
    rows = {
        f"{bounds.plain(e, settings)}, CPU seconds": costs.row(by.get_group(e))
        for e in items.chosen(settings, frame)
    }
    rows["all of them, CPU seconds"] = costs.row(frame)
    rows["one function (mean), CPU seconds"] = costs.row(frame, share=1.0 / count)
    rows["all of them, wall-clock seconds of the cells"] = costs.row(frame, "seconds")
    rows["the runs, wall-clock seconds, samples drawn"] = {
        "all n": f"{wall:.3g}" if pd.notna(wall) else "–"
    }
    rows["paper, about"] = {"all n": f"{paper:.3g}"}
    heading = f"seconds for {count} functions and {frame['rep'].nunique()} samples each"
    return text_tables.wide(rows, ["what"], heading, rates.size_columns(frame))


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the CPU seconds of all cells. They are not judged, because the hardware differs."""
    frame, why = costs.cells(records), settings.reasons["seconds"]
    total = {
        "value": frame["cpu_seconds"].sum(),
        "reps": frame["rep"].nunique(),
        "keys": tuple(frame["key"]),
    }
    return items.answers(
        items.numbers(pd.DataFrame([total]), PRINTED, "seconds", "value", None, why=why), settings
    )
