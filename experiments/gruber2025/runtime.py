"""Figure 3: what the estimators of Table 1 cost, all hyper-parameters and folds included."""

import numpy as np
import pandas as pd

from experiments.gruber2025.risk_table import BASES, PUBLISHED, STYLES, base_and_kind
from harness.report import items, panels

TOTAL = "all of them"
SHOWN = (PUBLISHED, "corrected")


def seconds(records, config):
    """One row per network and estimator: model, base, kind, cpu_seconds; and per network the sum of each kind, where all of its
    estimators have run."""
    fine = items.values(records, config).drop_duplicates("key")
    fine["base"], fine["kind"] = ([base_and_kind(name)[i] for name in fine["column"]] for i in (0, 1))
    found = items.means(fine[fine["base"].isin(BASES)], ["model", "base", "kind"], "cpu_seconds")
    found = found.rename(columns={"mean": "cpu_seconds"}).drop(columns=["sd", "reps", "se"])
    grouped = found[found["base"].ne(BASES[0])].groupby(["model", "kind"])
    total = grouped.agg(cpu_seconds=("cpu_seconds", "sum"), parts=("base", "size"), keys=("keys", "sum")).reset_index()
    total = total[total["parts"].eq(len(BASES) - 1)].assign(base=TOTAL)
    return pd.concat([found, total[found.columns]], ignore_index=True)


def render(records, config):
    """CPU seconds of one network, mean and single networks, log axis; the paper's wall-clock seconds as read from its figure."""
    cost, rows = seconds(records, config), [*BASES, TOTAL]
    figure, ((ax,),) = panels.grid(1, 1, 2.6)
    theirs = items.printed(config)
    theirs = theirs[theirs["row"].isin(rows)]
    panels.marks(ax, [rows.index(r) - 0.2 for r in theirs["row"]], theirs, "value", None, label="paper", **STYLES["paper"])
    for kind, at in zip(SHOWN, (0.0, 0.2)):
        mine, colour = cost[cost["kind"].eq(kind)], STYLES[kind]["color"]
        mean = items.means(mine, ["base"], "cpu_seconds")
        ax.plot(mine["cpu_seconds"], [rows.index(b) + at for b in mine["base"]], ".", color=colour, alpha=0.35, markersize=3)
        panels.marks(ax, [rows.index(b) + at for b in mean["base"]], mean, error=None, label=kind, **STYLES[kind])
    ax.set_xscale("log")
    panels.name_rows(ax, ["15 bins, in-sample", *rows[1:]])
    ax.set_xlabel("seconds per network of 10,000 samples (ours: CPU seconds on one thread; paper: wall-clock seconds)")
    panels.legend(figure, ax, 3)
    return figure


def table(records, config):
    """Rows estimator: the paper's seconds, ours (mean over the networks at hand), and multiples of the plug-in on 15 bins."""
    cost, theirs = seconds(records, config), items.printed(config).set_index("row")["value"]
    mean = cost.groupby(["base", "kind"])["cpu_seconds"].mean()
    least = mean.get((BASES[0], PUBLISHED), np.nan)
    rows = {}
    for name in (*BASES, TOTAL):
        published, corrected = (mean.get((name, kind), np.nan) for kind in SHOWN)
        rows[name] = {
            "paper (wall-clock)": _entry(theirs[name]), "paper / 15 bins": _ratio(theirs[name] / theirs[BASES[0]]),
            PUBLISHED: _entry(published), "corrected": _entry(corrected), "as published / 15 bins": _ratio(published / least),
        }  # fmt: skip
    networks = ", ".join(dict.fromkeys(cost["model"])) or "none"
    return items.wide(rows, ["estimator"], f"seconds per network; ours: CPU seconds, mean over {networks}")


def _entry(value):
    return f"{value:.3g}" if value == value else "–"


def _ratio(value):
    return f"{float(f'{value:.2g}'):,g}" if value == value else "–"


def reproduced(records, config):
    """Our seconds beside theirs, of other hardware and so not judged."""
    cost = seconds(records, config)
    found = items.means(cost[cost["kind"].eq(PUBLISHED)], ["base"], "cpu_seconds")
    return items.answers(items.numbers(found, "{base}", "seconds", why=config["reasons"]["seconds"]), config)
