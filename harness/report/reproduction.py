"""Paper against ours: every reported number with ours beside it and a verdict.

experiments/<paper>/reported.csv (and reported_runs.parquet, for authors' per-run values) are typed data with the columns
item, row, column, value, unit, plus_minus (standard error), reps, precision (1 unit of the last printed digit; 0 = full).

verdict
    identical               |ours - reported| <= precision / 2 + 1e-9
    within error            |difference| <= t * sqrt(plus_minus^2 + error^2), t the two-sided 0.1 % quantile of Student's t with
                            Welch's degrees of freedom: one in a thousand true reproductions is called different
                            (never given where both sides are of the same random draws: there only equality agrees)
    differs                 otherwise
    not reproducible here   we have no number, or one of something else (other data, other hardware), or one replication and so
                            no error to judge by; the reason is given
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.common.paths import EXPERIMENTS
from harness.errors import BadInputError
from harness.report.evaluation import evaluate
from harness.report.shown import label
from harness.runs.records import whole_file

KEY = ["item", "row", "column"]
COLUMNS = [*KEY, "unit", "reported", "plus_minus", "ours", "error", "reps", "difference", "z", "verdict", "reason"]
NUMBERS = ["value", "plus_minus", "reps", "precision"]  # columns of reported.csv
TAIL = 0.001
TRUTH = "True value"


def reported(paper: str, items):
    """The reported numbers of these items."""
    import pandas as pd

    folder = EXPERIMENTS / paper
    frames = [_read(folder / "reported.csv", pd.read_csv)]
    runs = folder / "reported_runs.parquet"
    if runs.is_file():
        frames.append(_read(runs, lambda path: pd.read_parquet(path, filters=[("item", "in", list(items))])))
    frames = [frame[frame["item"].isin(list(items))] for frame in frames]
    frame = pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)
    absent = set(items) - set(frame["item"])
    if absent:
        raise BadInputError(f"compare is {', '.join(sorted(absent))}, of which {paper}'s reported numbers hold nothing.")
    return frame


def _read(path, reader):
    """A table of reported numbers. Raises BadInputError, with the remedy, if it cannot be read, lacks a column, holds text where
    numbers belong, or the same number twice."""
    mend = "mend the file, or put back the one of the repository"
    if not path.is_file():
        raise BadInputError(f"{path} is not there; {mend}.")
    try:
        frame = reader(path)
    except Exception as error:
        raise BadInputError(
            f"{path} cannot be read ({type(error).__name__}: {str(error).splitlines()[0][:120]}); {mend}."
        ) from error
    absent = [name for name in (*KEY, *NUMBERS, "unit") if name not in frame]
    if absent:
        raise BadInputError(f"{path} lacks the column{'s' if len(absent) > 1 else ''} {', '.join(absent)}; {mend}.")
    texts = [name for name in NUMBERS if frame[name].dtype.kind not in "fiu"]
    if texts and len(frame):
        wrong = next(value for value in frame[texts[0]] if not _is_number(value))
        raise BadInputError(f"{path} holds {wrong!r} in the column {texts[0]}, where numbers belong; {mend}.")
    twice = frame.duplicated(KEY)
    if twice.any():
        raise BadInputError(f"{path} holds {frame.loc[twice, KEY].iloc[0].tolist()} twice; {mend}.")
    return frame


def _is_number(value):
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def compare(ours, paper: str, items, reasons=None, computed=(), same_draws_as_paper=False):
    """Join ours (columns item, row, column, value, error, reps, why) to the reported numbers of `items`. `why` says why a cell
    left no number or, beside a number, why ours is of something else than theirs and so shown without a judgement. `reasons`
    says, by column label, why there is no number of ours; `computed` are the columns that this experiment computes; `same_draws_as_paper`
    means that both sides are of the same random draws, so that nothing but equality is agreement."""
    frame = reported(paper, items).rename(columns={"value": "reported", "reps": "reported_reps"})
    twice = ours.duplicated(KEY)
    if twice.any():
        raise BadInputError(f"two of our numbers answer to {ours.loc[twice, KEY].iloc[0].tolist()}; the labels must be unique.")
    ours = ours.rename(columns={"value": "ours"}).assign(why=ours["why"] if "why" in ours else None)
    frame = frame.merge(ours, on=KEY, how="left", validate="one_to_one")
    frame["difference"] = frame["ours"] - frame["reported"]
    spread = np.hypot(frame["plus_minus"].fillna(0.0), frame["error"].fillna(0.0))
    frame["z"] = np.where((spread > 1e-12) & frame["error"].notna(), frame["difference"] / spread.where(spread > 0), np.nan)
    frame["verdict"] = _verdicts(frame, spread * (not same_draws_as_paper))
    frame.loc[frame["why"].notna(), ["verdict", "z"]] = ["not reproducible here", np.nan]
    frame["reason"] = [_reason(row, reasons or {}, computed, same_draws_as_paper) for row in frame.itertuples()]
    return frame[COLUMNS]


def _reason(row, reasons, computed, same_draws_as_paper):
    if row.verdict == "differs" and same_draws_as_paper and row.reps != row.reported_reps:
        return f"their mean is over {row.reported_reps:g} runs, ours over {row.reps:g}"
    if row.verdict == "differs":
        return reasons.get(row.column)
    if row.verdict != "not reproducible here":
        return None
    if row.reported != row.reported:
        return "the authors' own table has no value here"
    if isinstance(row.why, str):
        return row.why
    if row.ours == row.ours:
        return "one replication has no Monte Carlo error to judge by"
    return reasons.get(row.column, "not part of this run" if row.column in computed else "this experiment does not compute it")


def _verdicts(frame, spread):
    from scipy.special import stdtrit

    a2, b2 = frame["plus_minus"].fillna(0.0) ** 2, frame["error"].fillna(0.0) ** 2
    dof_a, dof_b = frame["reported_reps"].fillna(np.inf) - 1, frame["reps"].fillna(np.inf) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        dof = (a2 + b2) ** 2 / (a2**2 / dof_a + b2**2 / dof_b)
    allowed = stdtrit(np.clip(dof.fillna(1e6), 1.0, 1e6), 1 - TAIL / 2) * spread
    size = frame["difference"].abs()
    none, one_rep = frame["ours"].isna() | frame["reported"].isna(), frame["error"].isna()
    return np.select(
        [none, size <= frame["precision"] / 2 + 1e-9, one_rep, size <= allowed],
        ["not reproducible here", "identical", "not reproducible here", "within error"],
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
    with whole_file(path) as temporary:
        rows.sort_values(["experiment"], kind="stable").to_csv(temporary, index=False, float_format="%.12g")
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

    mine = records[records["estimand"].eq(estimand) & records["status"].eq("ok")]
    if per_run:
        table = mine.assign(mean=mine["value"], se=0.0, reps=1)
    else:
        table = evaluate(mine)

    def rows_of(frame):
        seeds = [f", seed = {r}" for r in frame["rep"]] if per_run else [""] * len(frame)
        return [f"{label(config, 'problem', p)}, n = {n}{s}" for p, n, s in zip(frame["problem"], frame["n"], seeds)]

    def columns_of(frame):
        return [label(config, "estimator", e) for e in frame["estimator"]]

    found = pd.DataFrame(
        {"row": rows_of(table), "column": columns_of(table), "value": table["mean"], "error": table["se"], "reps": table["reps"]}
    )
    frames = [found]
    if TRUTH not in config["labels"]["estimator"].values():
        exact = pd.DataFrame({"row": rows_of(table), "column": TRUTH, "value": table["truth"], "error": table["truth_error"]})
        frames.append(exact.drop_duplicates("row").assign(reps=np.inf))
    without = records[~records["status"].eq("ok")]
    lost = pd.DataFrame(
        {"row": rows_of(without), "column": columns_of(without), "why": [why_without(r) for r in without.itertuples()]}
    )
    if len(lost):
        seen = pd.MultiIndex.from_frame(found[["row", "column"]])
        lost = lost[~pd.MultiIndex.from_frame(lost[["row", "column"]]).isin(seen)].drop_duplicates(["row", "column"])
        frames.append(lost)
    return pd.concat(frames, ignore_index=True).assign(item=item)


def why_without(record) -> str:
    """Why a record holds no number: its status and the last line of its reason."""
    last = str(record.reason or "").strip().splitlines()[-1:]
    return f"{record.status}: {last[0][:200]}" if last else record.status
