"""Ratios of our own bounds to the paper's, on the same samples and under the same assumption.

"Derived" bounds were derived in this project. "Paper-style" bounds have the form of the paper's,
with constants reconstructed from its summary.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.figures.style import COLOURS

from . import bounds, drawing, rates

FROM = 10_000  # derived bounds should be tighter at this n and above
PAIRS = {  # (derived, paper-style): colour, line and marker
    ("nw_jensen", "nw_kfold_first_order"): (0, "-", "o"),
    ("nw_jensen", "nw_kfold_ciosek2026"): (5, "--", "^"),
    ("tv_insample", "tv_kfold"): (1, "-", "s"),
    ("bv_window", "tv_kfold"): (3, "-", "X"),
    ("lip_bkt_jensen", "lip_bkt"): (2, "-", "D"),
}


def ratios(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return `rates.paired_ratios` of the pairs whose two bounds the experiment has."""
    pairs = [pair for pair in PAIRS if set(pair) <= set(settings.estimator)]
    return items.in_order(rates.paired_ratios(bounds.measured(records), pairs), settings, "problem")


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one panel per function with the ratio of the mean bounds against n.

    A band spans the smallest and the largest ratio on one sample.
    """
    frame = ratios(records, settings).query("reps > 0")
    xlim, top = (
        (frame["n"].min() / 1.6, frame["n"].max() * 1.6),
        max(1.15, 1.05 * frame["largest"].max()),
    )

    def draw(ax: Axes, problem: str) -> None:
        """Draw the panel of one problem."""
        for pair, (colour, dash, marker) in PAIRS.items():
            line, text = (
                frame["pair"].eq(" / ".join(pair)),
                " / ".join(bounds.name(e, settings) for e in pair),
            )
            how = {"color": COLOURS[colour], "linestyle": dash, "marker": marker, "label": text}
            drawing.band(ax, frame[frame["problem"].eq(problem) & line], "least", "largest", **how)
        ax.axhline(1.0, color="0.2", linewidth=0.9)
        ax.axvspan(xlim[0], FROM / 1.05, color="0.5", alpha=0.1, linewidth=0)
        ax.set(
            xscale="log",
            xlim=xlim,
            ylim=(0.0, top),
            title=bounds.function(problem, settings).removesuffix(", perturbed"),
        )

    more = {"ylabel": "derived / paper-style", "columns": 2, "sharex": True, "sharey": True}
    return panels.each(items.chosen(settings, frame, "problem"), draw, **more)


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per function and pair of bounds.

    The columns are the ratio of the mean bounds and the largest ratio on one sample, for each n.
    The verdict says if the derived bound is smaller on every sample from n = 10,000 on.
    """
    rows = {}
    for (problem, pair), part in ratios(records, settings).groupby(["problem", "pair"], sort=False):
        text = " / ".join(bounds.plain(e, settings) for e in pair.split(" / "))
        row = rows[bounds.function(problem, settings), text] = {
            "verdict": rates.smaller_on_all(part, FROM, "tighter")
        }
        for r in part.itertuples():
            row[f"n = {r.n:,}"] = (
                wording.format_fixed(r.mean, r.se, 3) + f" (max. {r.largest:.3f})"
                if r.reps
                else "both vacuous"
            )
    heading = "ratio of the mean bounds ± jackknife error (largest ratio on one sample)"
    return text_tables.wide(rows, ["function", "derived / paper-style"], heading)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our ratios of the mean bounds for the reported numbers.

    Rows are named '<problem id>, n = <n>' and columns '<derived> / <paper-style>'.
    """
    return items.answers(
        items.numbers(ratios(records, settings), "{problem}, n = {n}", "{pair}"), settings
    )
