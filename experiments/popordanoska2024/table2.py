"""Table 2: KL and squared L2 calibration error (x 100) before and after recalibration.

Isotonic regression and temperature scaling are fitted on validation data. In brackets is the change
of the mean in per cent. The published estimates are class-wise, by the kernel via the risk with
bandwidth 0.02, and with squared errors on two columns. A perfectly calibrated model gets 1 to 2 as
well (experiment popordanoska2024_as_published). So only differences between rows tell something.
"""

import numpy as np

from harness.common import wording
from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, curves, networks

summary = curves.summary
PUBLISHED = "kde_popordanoska2024"
COLUMNS = {"kl": "CE_KL", "l2_squared": "CE_2^2"}
AXIS = {"CE_KL": r"CE$_\mathrm{KL}$ $\times$ 100", "CE_2^2": r"CE$_2^2$ $\times$ 100 (two columns)"}


def measured(records, settings):
    """Return means over the seeds x 100, by network, method, variant, estimator and estimand.

    `change` is in per cent of the mean without recalibration.
    """
    fine = networks.recalibrated(
        items.values(curves.in_two_columns(records), settings, COLUMNS), settings
    )
    frame = items.means(
        fine.assign(value=100 * fine["value"]), [*networks.KEY, "estimator", "column", "estimand"]
    )
    by = ["network", "estimator", "estimand"]
    frame = frame.join(
        frame[frame["method"].eq("none")].set_index(by)["mean"].rename("before"), on=by
    )
    after = ~frame["method"].isin(["none", "relabelled"])
    change = (100 * (frame["mean"] / frame["before"] - 1)).where(after)
    return frame.assign(change=change, metric=frame["estimand"].map(COLUMNS))


def render(records, settings):
    """Draw KL and squared L2 error of the published estimator, with a mark per method.

    Open marks are the printed numbers.
    """
    frame, paper = measured(records, settings), networks.printed(settings, "table2")
    frame = frame[frame["estimator"].eq(PUBLISHED)]
    if not len(frame):
        return panels.nothing(networks.NO_FILES)
    names = networks.row_names(frame, paper, settings)
    figure, axes = panels.grid(1, len(AXIS), 0.9 + 0.27 * len(names), sharey=True)
    for ax, (metric, text) in zip(axes.flat, AXIS.items()):
        networks.marks(
            ax, frame[frame["metric"].eq(metric)], paper[paper["column"].eq(metric)], names
        )
        ax.set_xlabel(text)
        ax.set_xlim(left=0.0)
    panels.legend(figure, axes, columns=3, last=[networks.OPEN])
    return figure


def table(records, settings):
    """Return a table by network, method and variant: means with changes, and printed numbers."""

    def ours(r):
        return wording.format_fixed(r.mean, r.se, 2) + (
            f" ({r.change:+.0f} %)" if not np.isnan(r.change) else ""
        )

    def theirs(r):
        return (
            f"{r.value:+.0f} %"
            if r.column.endswith("change")
            else wording.format_fixed(r.value, r.plus_minus, 2)
        )

    rows = text_tables.entries(
        measured(records, settings), networks.INDEX, "{metric}, {column}", text=ours
    )
    text_tables.entries(
        networks.printed(settings, "table2"),
        networks.INDEX,
        "{column}, paper",
        text=theirs,
        into=rows,
    )
    return networks.methods_table(
        rows,
        settings,
        "kl and squared L2 (two columns), x 100: mean ± standard error over seeds (change)",
    )


def reproduced(records, settings):
    """Return the numbers of the published estimator on the published recalibrations."""
    return comparisons.answers_or_reason(numbers(records, settings), records, settings)


def numbers(records, settings):
    """Return the means and changes of the published estimator, by row and column of the paper.

    Changes have no error.
    """
    frame = measured(records, settings)
    frame = frame[frame["estimator"].eq(PUBLISHED) & frame["variant"].ne(networks.OURS)]
    frame = frame[frame["method"].ne("relabelled")]
    changed = frame.dropna(subset="change")
    return items.together(
        items.numbers(frame, "{network}, {method}", "{metric}"),
        items.numbers(changed, "{network}, {method}", "{metric} change", "change", np.nan),
    )
