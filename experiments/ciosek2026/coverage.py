"""Share of samples on which certified bounds and intervals hold the true calibration error.

Nearly all of them hold it on every sample, because they add worst cases. The module `ablations`
shows which errors in a bound such a test can detect.
"""

import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.records.schema import has_number

from . import bounds, coverage_plot, rates


def measured(records: pd.DataFrame) -> pd.DataFrame:
    """Return `rates.coverage` of the bounds on the L1 error, cells without a number included."""
    return rates.coverage(records[records["estimand"].eq("l1") | ~has_number(records)])


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw `coverage_plot.figure` of all bounds of the experiment."""
    frame = measured(records)
    names = {
        estimator: bounds.name(estimator, settings) for estimator in items.chosen(settings, frame)
    }
    return coverage_plot.figure(frame, names, items.chosen(settings, frame, "problem"))


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with the coverage of each bound, by problem and level."""
    frame = bounds.with_names(measured(records), settings)
    parts = frame.groupby(["function", "bound", frame["level"].map("{:g}".format)], sort=False)
    rows = {key: coverage_plot.entries(part) for key, part in parts}
    heading = "share of samples whose bound holds the true value"
    return text_tables.wide(rows, ["problem", "bound", "level"], heading, rates.size_columns(frame))


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our coverages and mean bounds for the reported numbers.

    Rows are named '<problem id>, n = <n>'. The column of a coverage is '<estimator id>, coverage',
    that of a mean bound '<estimator id>'.
    """
    names = (["problem", "estimator"], "{problem}, n = {n}", "{estimator}, coverage")
    others = settings.reasons.get("prototype")
    shares = coverage_plot.shares(measured(records), *names, others)
    return items.answers(
        items.together(shares, rates.numbers_by_id(records, settings, "l1")), settings, others
    )
