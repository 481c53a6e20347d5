"""Coverage of the bounds with one of their terms left out.

It shows which errors in a bound a test of coverage can detect. A bound is a sum of worst cases, so
on most problems it still covers the true error without most of its terms. The problems here were
made to break the bounds. A term counts as detected if the coverage without it is below 1 - delta by
more than three standard errors, for a bound of level 1 - delta.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels

from . import bounds, coverage_plot
from .terms import VARIANTS


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one `coverage_plot.variants_panel` per problem, at the largest sample size."""
    frame = coverage_plot.without_terms(records)
    frame = frame[frame["n"].eq(frame["n"].max())]
    names = {
        estimator: bounds.name(estimator, settings) for estimator in items.chosen(settings, frame)
    }
    variants = [variant for variant in VARIANTS if variant in set(frame["variant"])]

    def draw(ax: Axes, problem: str) -> None:
        """Draw the panel of one problem."""
        coverage_plot.variants_panel(ax, frame[frame["problem"].eq(problem)], names, variants)
        ax.set_title(bounds.function(problem, settings))

    shape = {
        "height": 0.75 + 0.25 * len(names),
        "per_row": 2,
        "xlabel": None,
        "sharex": True,
        "sharey": True,
    }
    return panels.each(items.chosen(settings, frame, "problem"), draw, **shape)


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts: the coverage with all terms and without each, and detected terms.

    There is one row per problem, bound, sample size and level. The last rows have the lowest
    coverage of each bound over all problems.
    """
    frame, rows = bounds.with_names(coverage_plot.without_terms(records), settings), {}
    for (function, bound, n, level), part in frame.groupby(
        ["function", "bound", "n", "level"], sort=False
    ):
        rows[function, bound, f"{n:,}", f"{level:g}"] = coverage_plot.variants_entries(part, part)
    for (bound, level), part in frame.groupby(["bound", "level"], sort=False):
        lowest = part.loc[part.groupby("variant", sort=False)["coverage"].idxmin()]
        rows["lowest of all", bound, "–", f"{level:g}"] = coverage_plot.variants_entries(
            lowest, part
        )
    heading = "share of samples whose bound holds the true value, terms left out"
    return text_tables.wide(
        rows,
        ["problem", "bound", "n", "level"],
        heading,
        (*VARIANTS, "smallest that passes", "detected"),
    )


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our coverages for the reported numbers.

    Rows are named '<problem id>, n = <n>, level <level>' and columns '<estimator id>, <variant>'.
    The variant with the transfer alone is also computed at level 0.5.
    """
    names = (
        ["problem", "estimator", "variant"],
        "{problem}, n = {n}, level {level:g}",
        "{estimator}, {variant}",
    )
    shares = coverage_plot.shares(
        coverage_plot.without_terms(records), *names, settings.reasons.get("prototype")
    )
    half = coverage_plot.shares(coverage_plot.without_terms(records, 0.5), *names)
    return items.answers(items.together(shares, half), settings)
