"""What the items share: one value per estimator, entries of tables, our numbers beside the reported ones.

CKCE, JKCE (the unbiased SKCE of the same kernel) and ECE (three intervals per class, L1) have an estimand each, so that an
estimator stands for its value.
"""

import numpy as np
import pandas as pd

from harness.report import rankings, reproduction
from harness.report.plots import WIDTH, pyplot
from harness.report.tables import label

Z95 = 1.959963984540054


def values(records, config):
    """The records that hold a number, one estimand per estimator, with `column`, the estimator's label, and `model`, the
    problem's."""
    fine = rankings.one_estimand(records[records["status"].eq("ok")], config)
    return fine.assign(
        column=[label(config, "estimator", e) for e in fine["estimator"]],
        model=[label(config, "problem", p) for p in fine["problem"]],
    )


def columns_of(config, among=None):
    """Labels of the estimators in the order of the configuration, those of `among` if given."""
    named = [label(config, "estimator", e) for e in config["estimator"]]
    return [name for name in named if among is None or name in set(among)]


def models_of(config):
    """Labels of the problems in the order of the configuration."""
    return [label(config, "problem", p) for p in config["problem"]]


def means(frame, by):
    """Mean, sd, reps and standard error of `value` by these columns."""
    table = frame.groupby(by, sort=False)["value"].agg(mean="mean", sd="std", reps="size").reset_index()
    return table.assign(se=table["sd"] / np.sqrt(table["reps"]))


def shares(scored, config):
    """rankings.score with `column`, and `error`: the half width of the Wilson interval in standard errors, never 0."""
    return scored.assign(
        column=[label(config, "estimator", e) for e in scored["estimator"]], error=(scored["high"] - scored["low"]) / (2.0 * Z95)
    )


def answers(rows, records, config, whys=None):
    """Our numbers for `compare`: `rows` are (row, column, value, error, reps). config["reasons"]["data"] says why they are of
    something else. Reported numbers that `rows` lack are answered by whys[row], else by the reason of a cell without a number."""
    ours = pd.DataFrame(rows, columns=["row", "column", "value", "error", "reps"]).assign(why=config["reasons"].get("data"))
    lost = records[~records["status"].eq("ok")]
    default = reproduction.why_without(lost.iloc[0]) if len(lost) else None
    frames = []
    for item in config["compare"]:
        asked = reproduction.reported(config["paper"], [item])
        mine = set(zip(ours["row"], ours["column"]))
        absent = asked[[pair not in mine for pair in zip(asked["row"], asked["column"])]]
        reasons = [(whys or {}).get(row, default) for row in absent["row"]]
        absent = absent[["row", "column"]].assign(why=reasons).dropna(subset="why")
        frames += [frame.assign(item=item) for frame in (ours, absent) if len(frame)]
    return joined(frames)


def joined(frames):
    columns = ["item", "row", "column", "value", "error", "reps", "why"]
    return pd.concat(frames, ignore_index=True).reindex(columns=columns) if frames else pd.DataFrame(columns=columns)


def entry(value, error=np.nan, digits=4):
    """'0.0366 ± 0.0010', a dash for none."""
    if value != value:
        return "–"
    return f"{value:.{digits}f}" + (f" ± {error:.{digits}f}" if error == error else "")


def framed(rows, names, heading, order=()):
    """{index tuple: {column: text}} -> a table with dashes where there is nothing; columns of `order` come first."""
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    columns = [c for c in order if c in columns] + [c for c in columns if c not in order]
    index = pd.MultiIndex.from_tuples(list(rows) or [("–",) * len(names)], names=names)
    data = [[row.get(c, "–") for c in columns] for row in rows.values()] or [["none: no cell gave a number"]]
    frame = pd.DataFrame(data, index, columns or ["numbers"], dtype=object)
    frame.columns.name = heading
    return frame


def nothing(text="no cell gave a number to draw; the page says why"):
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    return figure
