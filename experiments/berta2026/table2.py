"""Table 2: over- and under-confidence (L1 and its two parts) of three simulated problems, n = 5,000."""

import numpy as np
import pandas as pd

from harness.report import reproduction
from harness.report.evaluation import evaluate
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

PAPER = "WS CatBoost"  # the printed numbers' column in reported.csv
PARTS = {"l1_over": "over", "l1_under": "under", "l1": "total"}


def render(records, config):
    plt = pyplot()
    problems = list(config["problem"])
    grid = {"squeeze": False, "sharex": True, "sharey": True}
    figure, axes = plt.subplots(1, len(problems), figsize=(WIDTH, 2.0), layout="constrained", **grid)
    draw_parts(figure, axes[0], problems, records, config)
    for ax, problem in zip(axes[0], problems):
        ax.set_title(label(config, "problem", problem))
    return figure


def draw_parts(figure, axes, problems, records, config):
    """One panel per problem: over, under and total, estimates +- standard error one below the other, truth as a vertical stroke,
    the paper's printed value, with the standard error of its ten runs, as an open diamond; the legend above the figure."""
    measured, printed = numbers(records, config), _printed()
    estimators = [e for e in config["estimator"] if e in set(measured["estimator"])]
    step = 0.8 / (len(estimators) + 1)
    for ax, problem in zip(axes, problems):
        for i, (estimand, part) in enumerate(PARTS.items()):
            mine = measured[(measured["problem"] == problem) & (measured["estimand"] == estimand)]
            for j, estimator in enumerate(estimators):
                line = mine[mine["estimator"] == estimator]
                ax.errorbar(
                    line["mean"], np.full(len(line), i - 0.4 + step * (j + 0.5)), xerr=line["se"], capsize=1.5, elinewidth=0.8,
                    color=COLOURS[j % 8], marker=MARKERS[j % 8], linestyle="none", label=label(config, "estimator", estimator),
                )  # fmt: skip
            theirs = printed[printed["row"].eq(f"{label(config, 'problem', problem)}, {part}")]
            theirs = theirs if mine["n"].eq(5000).any() else theirs[:0]  # the paper's is of 5,000 samples
            ax.errorbar(
                theirs["value"], np.full(len(theirs), i + 0.4 - step / 2), xerr=theirs["plus_minus"], color="0.35", marker="D",
                markerfacecolor="white", capsize=1.5, elinewidth=0.8, linestyle="none", label="paper",
            )  # fmt: skip
            ax.vlines(mine["truth"].head(1), i - 0.45, i + 0.45, color="0.2", linewidth=1.0, zorder=1, label="true value")
        ax.set_yticks(range(len(PARTS)), list(PARTS.values()))
        ax.set_ylim(len(PARTS) - 0.45, -0.55)
        ax.tick_params(axis="y", length=0)
        ax.locator_params(axis="x", nbins=4)
        ax.set_xlabel("$L_1$ calibration error")
    handles = {text: handle for handle, text in zip(*axes[0].get_legend_handles_labels())}
    order = ["true value", "paper", *(text for text in handles if text not in ("true value", "paper"))]
    figure.legend([handles[text] for text in order], order, loc="outside upper center", ncols=4, columnspacing=1.2)


def numbers(records, config):
    """evaluate() of L1 and its two parts, problems in the experiment's order."""
    table = evaluate(records[records["notion"].eq("binary") & records["estimand"].isin(PARTS) & records["status"].eq("ok")])
    order = [table["problem"].map(list(config["problem"]).index), table["estimand"].map(list(PARTS).index)]
    return table.assign(first=order[0], second=order[1]).sort_values(["first", "n", "second"], kind="stable")


def table(records, config):
    """Rows (problem, part): truth, the paper's printed value (clipped at 0), and of every estimator mean +- standard error as it
    is and clipped as the paper clips it: the mean, not the single runs."""
    printed = _printed().set_index("row")["value"]
    rows = {}
    for r in numbers(records, config).itertuples():
        row = rows.setdefault(_row(config, r), {"truth": f"{r.truth:.4f}"})
        if _row(config, r) in printed:
            row["paper"] = f"{printed[_row(config, r)]:.3f}"
        name = label(config, "estimator", r.estimator)
        row[name] = f"{r.mean:.4f}" + (f" ± {r.se:.4f}" if r.se == r.se else "")
        row[f"{name}, clipped"] = f"{max(r.mean, 0.0):.3f}"
    for r in _lost(records, config, [(row, column) for row, entry in rows.items() for column in entry]).itertuples():
        rows.setdefault(r.row, {})[r.column] = r.why.split(":")[0]
    names = [label(config, "estimator", e) for e in config["estimator"] if e in set(records["estimator"])]
    columns = ["truth", "paper", *(c for name in names for c in (name, f"{name}, clipped"))]
    index = pd.MultiIndex.from_tuples([tuple(row.rsplit(", ", 1)) for row in rows], names=["problem", "part"])
    frame = pd.DataFrame([[row.get(c, "–") for c in columns] for row in rows.values()], index, columns, dtype=object)
    frame.columns.name = "l1: mean ± standard error; clipped: max(mean, 0), as the paper prints it"
    return frame


def reproduced(records, config):
    """Our numbers for the items of `compare`: `table2` is printed after clipping the means at 0, so ours are clipped there and
    nowhere else; `over_under` are the authors' unclipped means."""
    found = numbers(records, config)
    ours = pd.DataFrame(
        {
            "row": [_row(config, r) for r in found.itertuples()],
            "column": [label(config, "estimator", e) for e in found["estimator"]],
            "value": found["mean"], "error": found["se"], "reps": found["reps"], "why": None,
        }
    )  # fmt: skip
    exact = pd.DataFrame({"row": ours["row"], "value": found["truth"], "error": found["truth_error"]}).drop_duplicates("row")
    frames = [
        ours,
        exact.assign(column=reproduction.TRUTH, reps=np.inf),
        _lost(records, config, zip(ours["row"], ours["column"])),
    ]
    ours = pd.concat([frame for frame in frames if len(frame)], ignore_index=True).reindex(columns=ours.columns)
    clipped = ours.assign(value=ours["value"].clip(lower=0.0))
    return pd.concat([(clipped if i == "table2" else ours).assign(item=i) for i in config["compare"]], ignore_index=True)


def _lost(records, config, answered):
    """Why an estimator has no number at all on a problem; `answered` are the pairs (row, column) that have one."""
    without = records[records["estimand"].isna()]
    rows = [
        (f"{label(config, 'problem', r.problem)}, {part}", label(config, "estimator", r.estimator), reproduction.why_without(r))
        for r in without.itertuples()
        for part in PARTS.values()
    ]
    frame = pd.DataFrame(rows, columns=["row", "column", "why"]).drop_duplicates(["row", "column"])
    seen = set(answered)
    return frame[[pair not in seen for pair in zip(frame["row"], frame["column"])]]


def _row(config, r):
    """'Over-confident, under'; another n than the paper's is named."""
    return label(config, "problem", r.problem) + ("" if r.n == 5000 else f" (n = {r.n})") + f", {PARTS[r.estimand]}"


def _printed():
    """The printed estimates (not the truths)."""
    table = reproduction.reported("berta2026", ["table2"])
    return table[table["column"].eq(PAPER)]
