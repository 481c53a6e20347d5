"""Figure 2: the three simulated problems, with the numbers of Table 2."""

import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures import panels

from . import table2

table, reproduced = table2.table, table2.reproduced


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the problems above and Table 2 below.

    A panel of a problem has the identity line, and the true probability g*(f) at the first 500
    predictions f of replication 0.
    """
    problems = list(settings.problem)
    figure, axes = panels.grid(
        2, len(problems), 4.1, sharex="row", sharey="row", height_ratios=[1.9, 1.5]
    )
    drawn = items.with_number(records[records["estimator"].eq("points") & records["rep"].eq(0)])
    for ax, problem in zip(axes[0], problems):
        ax.plot([0, 1], [0, 1], color="0.2", linewidth=0.8, label="calibrated")
        for points in drawn.loc[drawn["problem"].eq(problem), "arrays"]:
            ax.plot(
                points["f"], points["c"], ".", color="0.5", markersize=2.5, label=r"$g^\ast(f)$"
            )
        ax.set(title=label(settings, "problem", problem), xlabel="prediction $f$", box_aspect=1)
    axes[0, 0].set_ylabel(r"$g^\ast(f) = P(Y = 1 \mid f)$")
    axes[0, 0].legend(loc="lower right", handlelength=1.2, borderaxespad=0.0)
    table2.draw_parts(figure, axes[1], problems, records, settings)
    return figure
