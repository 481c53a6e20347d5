"""Figure 3: cost of the estimators of Table 1, with all their settings and folds."""

import pandas as pd

from harness.common.wording import DASH
from harness.evaluation import items, text_tables
from harness.figures import panels

from .tuned import BASES, PAPER, PUBLISHED, STYLES, with_base

TOTAL = "all of them"
ROWS = [*BASES, TOTAL]
SHORT, RATIO = "{:.3g}".format, "{:,g}".format


def seconds(records, settings):
    """Return `cpu_seconds` by network, base and kind.

    The base TOTAL has the sum over the tuned estimators, for networks and kinds that have all of
    them.
    """
    fine = with_base(items.values(records, settings).drop_duplicates("key"))
    means = items.means(fine[fine["base"].isin(BASES)], ["model", "base", "kind"], "cpu_seconds")
    frame = means.drop(columns=["sd", "reps", "se"]).rename(columns={"mean": "cpu_seconds"})
    grouped = frame[frame["base"].ne(BASES[0])].groupby(["model", "kind"])
    total = grouped.agg(
        cpu_seconds=("cpu_seconds", "sum"), parts=("base", "size"), keys=("keys", "sum")
    ).reset_index()
    whole = total[total["parts"].eq(len(BASES) - 1)].assign(base=TOTAL)[frame.columns]
    return pd.concat([frame, whole], ignore_index=True)


def render(records, settings):
    """Draw the seconds per network on a log axis: their mean, and single networks as dots.

    Ours are CPU seconds. The paper's are wall-clock seconds, as read from its figure.
    """
    cost = seconds(records, settings)
    theirs = (
        items.printed(settings).rename(columns={"row": "base", "value": "mean"}).assign(kind=PAPER)
    )
    shown = pd.concat([theirs, items.means(cost, ["base", "kind"], "cpu_seconds")])
    figure, ((ax,),) = panels.grid(1, 1, 2.6)
    for kind, shift in ((PAPER, -0.2), (PUBLISHED, 0.0), ("corrected", 0.2)):
        dots = {
            "shift": shift,
            "color": STYLES[kind]["color"],
            "marker": ".",
            "alpha": 0.35,
            "markersize": 3,
        }
        panels.named_marks(
            ax, cost[cost["kind"].eq(kind)], "base", ROWS, "cpu_seconds", None, **dots
        )
        panels.named_marks(
            ax,
            shown[shown["kind"].eq(kind)],
            "base",
            ROWS,
            error=None,
            **STYLES[kind] | {"shift": shift},
        )
    ax.set_xscale("log")
    panels.name_rows(ax, ["15 bins, in-sample", *ROWS[1:]])
    ax.set_xlabel(
        "seconds per network of 10,000 samples "
        "(ours: CPU seconds on one thread; paper: wall-clock seconds)"
    )
    panels.legend(figure, ax, 3)
    return figure


def table(records, settings):
    """Return a table with a row per estimator: the paper's seconds and ours.

    Two columns have them as multiples of the seconds of 15 bins.
    """
    cost = seconds(records, settings)
    mean = (
        cost.groupby(["kind", "base"])["cpu_seconds"]
        .mean()
        .unstack("kind")
        .reindex(ROWS, columns=[PUBLISHED, "corrected"])
    )
    theirs = items.printed(settings).set_index("row")["value"]
    ratios = [
        (of / of[BASES[0]]).map("{:.2g}".format).astype(float) for of in (theirs, mean[PUBLISHED])
    ]
    columns = {
        "paper (wall-clock)": theirs.map(SHORT),
        "paper / 15 bins": ratios[0].map(RATIO),
        PUBLISHED: mean[PUBLISHED].map(SHORT),
        "corrected": mean["corrected"].map(SHORT),
        "as published / 15 bins": ratios[1].map(RATIO),
    }
    rows = pd.DataFrame(columns).replace("nan", DASH).loc[ROWS].to_dict("index")
    heading = "seconds per network; ours: CPU seconds, mean over " + (
        ", ".join(dict.fromkeys(cost["model"])) or "none"
    )
    return text_tables.wide(rows, ["estimator"], heading)


def reproduced(records, settings):
    """Return our seconds. They are not judged, because the hardware is another."""
    frame = items.means(
        seconds(records, settings).loc[lambda cost: cost["kind"].eq(PUBLISHED)],
        ["base"],
        "cpu_seconds",
    )
    return items.answers(
        items.numbers(frame, "{base}", "seconds", why=settings.reasons["seconds"]), settings
    )
