"""Paper against ours: every reported number with ours beside it and a verdict.

experiments/<paper>/reported.csv (and reported_runs.parquet, for authors' per-run values) are typed data with the columns
item, row, column, value, unit, plus_minus (standard error), reps, precision (1 unit of the last printed digit; 0 = full).

verdict
    identical               |ours - reported| <= precision / 2 + 1e-9
    within error            |difference| <= t * sqrt(plus_minus^2 + error^2), t the two-sided 0.1 % quantile of Student's t with
                            Welch's degrees of freedom: one in a thousand true reproductions is called different
    differs                 otherwise
    not reproducible here   we have no number, for the reason given
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.config import EXPERIMENTS
from harness.errors import BadInput

KEY = ["item", "row", "column"]
COLUMNS = [*KEY, "unit", "reported", "plus_minus", "ours", "error", "reps", "difference", "z", "verdict", "reason"]
TAIL = 0.001
TRUTH = "True value"


def reported(paper: str, items):
    """The reported numbers of these items."""
    import pandas as pd

    folder = EXPERIMENTS / paper
    frames = [pd.read_csv(folder / "reported.csv")]
    runs = folder / "reported_runs.parquet"
    if runs.is_file():
        frames.append(pd.read_parquet(runs, filters=[("item", "in", list(items))]))
    frames = [frame[frame["item"].isin(list(items))] for frame in frames]
    frame = pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)
    absent = set(items) - set(frame["item"])
    if absent:
        raise BadInput(f"compare is {', '.join(sorted(absent))}, of which {paper}'s reported numbers hold nothing.")
    return frame


def compare(ours, paper: str, items, reasons=None):
    """Join ours (columns item, row, column, value, error, reps) to the reported numbers of `items`. `reasons` says, by column
    label, why there is no number of ours."""
    frame = reported(paper, items).rename(columns={"value": "reported", "reps": "reported_reps"})
    twice = ours.duplicated(KEY)
    if twice.any():
        raise BadInput(f"two of our numbers answer to {ours.loc[twice, KEY].iloc[0].tolist()}; the labels must be unique.")
    frame = frame.merge(ours.rename(columns={"value": "ours"}), on=KEY, how="left", validate="one_to_one")
    frame["difference"] = frame["ours"] - frame["reported"]
    spread = np.hypot(frame["plus_minus"].fillna(0.0), frame["error"].fillna(0.0))
    frame["z"] = np.where(spread > 0, frame["difference"] / spread.where(spread > 0), np.nan)
    frame["verdict"] = _verdicts(frame, spread)
    none = frame["verdict"].eq("not reproducible here")
    ours_missing = [(reasons or {}).get(column, "this experiment does not compute it") for column in frame["column"]]
    frame["reason"] = np.where(frame["reported"].isna(), "the authors' own table has no value here", ours_missing)
    frame["reason"] = frame["reason"].where(none, None)
    return frame[COLUMNS]


def _verdicts(frame, spread):
    from scipy.special import stdtrit

    a2, b2 = frame["plus_minus"].fillna(0.0) ** 2, frame["error"].fillna(0.0) ** 2
    dof_a, dof_b = frame["reported_reps"].fillna(np.inf) - 1, frame["reps"].fillna(np.inf) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        dof = (a2 + b2) ** 2 / (a2**2 / dof_a + b2**2 / dof_b)
    allowed = stdtrit(np.clip(dof.fillna(1e6), 1.0, 1e6), 1 - TAIL / 2) * spread
    size = frame["difference"].abs()
    return np.select(
        [frame["ours"].isna() | frame["reported"].isna(), size <= frame["precision"] / 2 + 1e-9, size <= allowed],
        ["not reproducible here", "identical", "within error"],
        "differs",
    )


def counts(compared) -> dict[str, int]:
    """Number of rows per verdict, in the order of the docstring."""
    order = ("identical", "within error", "differs", "not reproducible here")
    found = compared["verdict"].value_counts()
    return {verdict: int(found.get(verdict, 0)) for verdict in order}


def save(compared, experiment: str, folder: Path) -> list[Path]:
    """Write the rows of this experiment into <folder>/reproduction.csv, beside those of the paper's other experiments; rows of
    authors' single runs (items *_runs*) go to reproduction_runs.csv. Returns the files written."""
    single = compared["item"].str.contains("_runs")
    files = {"reproduction.csv": compared[~single], "reproduction_runs.csv": compared[single]}
    return [_replace_rows(rows, experiment, folder / name) for name, rows in files.items() if len(rows)]


def _replace_rows(rows, experiment, path):
    import pandas as pd

    rows = rows.assign(experiment=experiment)[["experiment", *COLUMNS]]
    if path.is_file():
        others = pd.read_csv(path)
        others = others[others["experiment"] != experiment]
        rows = pd.concat([others, rows], ignore_index=True) if len(others) else rows
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    rows.sort_values(["experiment"], kind="stable").to_csv(temporary, index=False, float_format="%.12g")
    temporary.replace(path)
    return path


def convergence_numbers(records, config, estimand: str):
    """Our numbers for a convergence figure and the reported items in config["compare"].

    Row '<problem label>, n = <n>' (items named *_runs: also ', seed = <rep>'; *_runs_<estimand>: of that estimand), column the
    estimator's label; error is the standard error over the reps, 0 for single runs. The column 'True value' is the problem's
    truth with its error, unless an estimator bears that label.
    """
    import pandas as pd

    frames = []
    for item in config["compare"]:
        head, _, tail = item.partition("_runs")
        frames.append(_numbers(records, config, item, tail.removeprefix("_") or estimand, per_run=item != head))
    return pd.concat(frames, ignore_index=True)


def _numbers(records, config, item, estimand, per_run):
    import pandas as pd

    from harness.evaluation import evaluate
    from harness.tables import label

    mine = records[records["estimand"].eq(estimand) & records["status"].eq("ok")]
    if per_run:
        table = mine.assign(mean=mine["value"], se=0.0, reps=1, seed=[f", seed = {r}" for r in mine["rep"]])
    else:
        table = evaluate(mine).assign(seed="")
    rows = [f"{label(config, 'problem', p)}, n = {n}{s}" for p, n, s in zip(table["problem"], table["n"], table["seed"])]
    columns = [label(config, "estimator", e) for e in table["estimator"]]
    found = pd.DataFrame({"row": rows, "column": columns, "value": table["mean"], "error": table["se"], "reps": table["reps"]})
    if TRUTH not in columns:
        exact = pd.DataFrame(
            {"row": rows, "column": TRUTH, "value": table["truth"], "error": table["truth_error"], "reps": np.inf}
        )
        found = pd.concat([found, exact.drop_duplicates("row")], ignore_index=True)
    return found.assign(item=item)
