"""Figure 3: what the estimators of Table 1 cost, all hyper-parameters and folds included."""

import numpy as np
import pandas as pd

from experiments.gruber2025 import risk_table
from harness.report import reproduction
from harness.report.plots import WIDTH, pyplot
from harness.report.tables import label

BASES, STYLES = risk_table.BASES, risk_table.STYLES
TOTAL = "all of them"


def render(records, config):
    """CPU seconds of one network, mean and single networks, log axis; the paper's wall-clock seconds as read from its figure."""
    plt = pyplot()
    cost, printed = seconds(records, config), reproduction.reported(config["paper"], config["compare"]).set_index("row")
    figure, ax = plt.subplots(figsize=(WIDTH, 2.6), layout="constrained")
    rows = [*BASES, TOTAL]
    for i, base in enumerate(rows):
        ax.plot(printed["value"].get(base), i - 0.2, linestyle="none", label="paper", **STYLES["paper"])
        for kind, at in (("as published", i), ("corrected", i + 0.2)):
            mine = cost[cost["base"].eq(base) & cost["kind"].eq(kind)]["cpu_seconds"]
            if len(mine):
                style = STYLES[kind]
                ax.plot(mine, np.full(len(mine), at), ".", color=style["color"], alpha=0.35, markersize=3)
                ax.plot(mine.mean(), at, linestyle="none", label=kind, **style)
    ax.set_xscale("log")
    ax.set_yticks(range(len(rows)), ["15 bins, in-sample", *rows[1:]])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("seconds per network of 10,000 samples (ours: CPU seconds on one thread; paper: wall-clock seconds)")
    entries = {text: handle for handle, text in zip(*ax.get_legend_handles_labels())}
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=3)
    return figure


def seconds(records, config):
    """One row per network and estimator: model, base, kind, cpu_seconds; and per network the sum of each kind, where all of its
    estimators have run."""
    fine = records[records["status"].eq("ok")].drop_duplicates("key")
    names = [risk_table.base_and_kind(label(config, "estimator", e)) for e in fine["estimator"]]
    frame = pd.DataFrame(
        {
            "model": [label(config, "problem", p) for p in fine["problem"]],
            "base": [base for base, _ in names],
            "kind": [kind for _, kind in names],
            "cpu_seconds": fine["cpu_seconds"].to_numpy(),
        }
    )
    frame = frame[frame["base"].isin(BASES)].groupby(["model", "base", "kind"], as_index=False, sort=False).mean()
    total = frame[frame["base"].ne(BASES[0])].groupby(["model", "kind"])["cpu_seconds"].agg(["sum", "size"]).reset_index()
    total = total[total["size"].eq(len(BASES) - 1)].rename(columns={"sum": "cpu_seconds"}).assign(base=TOTAL)
    return pd.concat([frame, total[frame.columns]], ignore_index=True)


def table(records, config):
    """Rows estimator: the paper's seconds, ours (mean over the networks at hand), and multiples of the plug-in on 15 bins."""
    cost, printed = seconds(records, config), reproduction.reported(config["paper"], config["compare"]).set_index("row")["value"]
    mean = cost.groupby(["base", "kind"])["cpu_seconds"].mean()
    base = mean.get((BASES[0], "as published"), np.nan)
    lines = {}
    for name in (*BASES, TOTAL):
        ours = {kind: mean.get((name, kind), np.nan) for kind in ("as published", "corrected")}
        lines[name] = {
            "paper (wall-clock)": _entry(printed[name]),
            "paper / 15 bins": _ratio(printed[name] / printed[BASES[0]]),
            **{kind: _entry(value) for kind, value in ours.items()},
            "as published / 15 bins": _ratio(ours["as published"] / base),
        }
    index = pd.MultiIndex.from_tuples([(name,) for name in lines], names=["estimator"])
    frame = pd.DataFrame(list(lines.values()), index, dtype=object)
    networks = ", ".join(dict.fromkeys(cost["model"])) or "none"
    frame.columns.name = f"seconds per network; ours: CPU seconds, mean over {networks}"
    return frame


def _entry(value):
    return f"{value:.3g}" if value == value else "–"


def _ratio(value):
    return f"{float(f'{value:.2g}'):,g}" if value == value else "–"


def reproduced(records, config):
    """Our seconds beside theirs, of other hardware and so not judged."""
    cost = seconds(records, config)
    cost = cost[cost["kind"].eq("as published")]
    by = cost.groupby("base")["cpu_seconds"]
    frame = by.mean().rename("value").rename_axis("row").reset_index()
    frame["reps"] = by.size().to_numpy()
    frame["error"] = (by.std() / np.sqrt(by.size())).to_numpy()
    frame["why"] = config["reasons"]["seconds"]
    return pd.concat([frame.assign(item=item, column="seconds") for item in config["compare"]], ignore_index=True)
