"""Table 2: KL and squared L2 calibration error (both x 100) of networks as they are, after isotonic regression and after
temperature scaling, fitted on validation data; in brackets the change of the mean in per cent.

As published: class-wise, the kernel via the risk with bandwidth 0.02, squared errors on two columns. A perfectly calibrated model
has 1 to 2 by that as well (experiment popordanoska2024_as_published), so that only differences between rows tell something.
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
    """By network, method, variant, estimator and estimand: mean over the seeds x 100, se, reps, and `change`, in per cent of
    the mean without recalibration."""
    fine = networks.recalibrated(
        items.values(curves.in_two_columns(records), settings, COLUMNS), settings
    )
    found = items.means(
        fine.assign(value=100 * fine["value"]), [*networks.KEY, "estimator", "column", "estimand"]
    )
    by = ["network", "estimator", "estimand"]
    found = found.join(
        found[found["method"].eq("none")].set_index(by)["mean"].rename("before"), on=by
    )
    after = ~found["method"].isin(["none", "relabelled"])
    change = (100 * (found["mean"] / found["before"] - 1)).where(after)
    return found.assign(change=change, metric=found["estimand"].map(COLUMNS))


def render(records, settings):
    """Networks by KL and by squared L2, by the published estimator, a mark per method; the printed numbers as open marks."""
    found, paper = measured(records, settings), networks.printed(settings, "table2")
    found = found[found["estimator"].eq(PUBLISHED)]
    if not len(found):
        return panels.nothing(networks.NO_FILES)
    names = networks.rows_of(found, paper, settings)
    figure, axes = panels.grid(1, len(AXIS), 0.9 + 0.27 * len(names), sharey=True)
    for ax, (metric, text) in zip(axes.flat, AXIS.items()):
        networks.marks(
            ax, found[found["metric"].eq(metric)], paper[paper["column"].eq(metric)], names
        )
        ax.set_xlabel(text)
        ax.set_xlim(left=0.0)
    panels.legend(figure, axes, columns=3, last=[networks.OPEN])
    return figure


def table(records, settings):
    """Rows (network, method, variant): the mean with its change, by every estimator, and the printed numbers."""

    def ours(r):
        return wording.format_fixed(r.mean, r.se, 2) + (
            f" ({r.change:+.0f} %)" if r.change == r.change else ""
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
    return networks.of_methods(
        rows,
        settings,
        "kl and squared L2 (two columns), x 100: mean ± standard error over seeds (change)",
    )


def reproduced(records, settings):
    """The published estimator's numbers on the published recalibrations; changes have no error of their own."""
    found = measured(records, settings)
    found = found[found["estimator"].eq(PUBLISHED) & found["variant"].ne(networks.OURS)]
    ours = items.together(
        items.numbers(found, "{network}, {method}", "{metric}"),
        items.numbers(
            found.dropna(subset="change"),
            "{network}, {method}",
            "{metric} change",
            "change",
            np.nan,
        ),
    )
    return comparisons.answers_or_reason(ours, records, settings)
