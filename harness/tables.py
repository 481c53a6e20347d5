"""Result tables: the long summary (CSV, Parquet) and the wide one with the paper's labels (LaTeX, HTML)."""

from __future__ import annotations

import re
from pathlib import Path

from harness.evaluation import evaluate
from harness.records import whole_file

BOUNDS = {"upper": "≤ ", "lower": "≥ "}


def label(config, group: str, name: str) -> str:
    """The paper's label of a problem or estimator, else its id."""
    return (config["labels"].get(group) or {}).get(name, name)


def figure_estimand(records, config) -> str:
    """The estimand of figure and wide table: the configured one if it was estimated, else the most frequent."""
    have = records.loc[records["status"].eq("ok"), "estimand"]
    wanted = config["figure"]["estimand"]
    return wanted if len(have) == 0 or (have == wanted).any() else have.value_counts().index[0]


def summary(records, config):
    """evaluate(records) with the labels beside the ids."""
    frame = evaluate(records)
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(config, group, name) for name in frame[group]])
    return frame


def wide(records, config):
    """Rows (problem, notion if several, n), one column per estimator with 'mean +- se' of the figure's estimand, and the
    truth; an interval shows the means of its ends, a cell that has no number its status."""
    import pandas as pd

    estimand = figure_estimand(records, config)
    frame = evaluate(records)
    several = frame["notion"].nunique() > 1
    order = list(dict.fromkeys(records["estimator"]))
    order = [e for e in config["estimator"] if e in order] or order
    rows = {}
    for _, r in frame.iterrows():
        row = (label(config, "problem", r["problem"]), *((r["notion"],) if several else ()), int(r["n"]))
        entry = rows.setdefault(row, {})
        name = label(config, "estimator", r["estimator"])
        if r["estimand"] == estimand and r["status"] == "ok":
            entry[name] = _entry(r)
            if r["truth"] == r["truth"]:
                entry["truth"] = f"{r['truth']:.4f}"
        elif r["estimand"] == "" and name not in entry:
            entry[name] = r["status"]
    columns = ["truth", *(label(config, "estimator", e) for e in order)]
    index = pd.MultiIndex.from_tuples(list(rows), names=["problem", *(["notion"] if several else []), "n"])
    table = pd.DataFrame([[entry.get(c, "–") for c in columns] for entry in rows.values()], index, columns, dtype=object)
    if (table["truth"] == "–").all():
        table = table.drop(columns="truth")
    ranks = {label(config, "problem", p): i for i, p in enumerate(dict.fromkeys([*config["problem"], *records["problem"]]))}
    table = table.sort_index(
        level=0, key=lambda level: level.map(ranks) if level.name == "problem" else level, sort_remaining=True
    )
    table.columns.name = f"{estimand}: mean ± standard error"
    return table


def _entry(r):
    if r["kind"] == "interval":
        return f"[{r['low']:.4f}, {r['high']:.4f}]"
    return BOUNDS.get(r["kind"], "") + f"{r['mean']:.4f}" + (f" ± {r['se']:.4f}" if r["se"] == r["se"] else "")


def save(summary_frame, wide_frame, stem: Path) -> list[Path]:
    """<stem>.csv and .parquet hold the summary, <stem>.tex the wide table."""
    paths = [stem.with_name(stem.name + end) for end in (".csv", ".parquet", ".tex")]
    writers = (
        lambda path: summary_frame.to_csv(path, index=False),
        lambda path: summary_frame.to_parquet(path, index=False),
        lambda path: path.write_text(latex(wide_frame)),
    )
    for path, write in zip(paths, writers):
        with whole_file(path) as temporary:
            write(temporary)
    return paths


def latex(frame) -> str:
    """A booktabs tabular; a comment that says so where there are no rows."""
    if not len(frame):
        return f"% {frame.columns.name or ''}\n% no rows\n"
    escaped = frame.copy()
    escaped.columns = [_tex(c) for c in frame.columns]
    escaped = escaped.map(_tex)
    escaped.index = escaped.index.map(lambda row: tuple(_tex(part) for part in row) if isinstance(row, tuple) else _tex(row))
    escaped.index.names = [_tex(name) for name in frame.index.names]
    style = escaped.style
    return f"% {frame.columns.name or ''}\n" + style.to_latex(hrules=True, multirow_align="t")


def _tex(value):
    text = str(value)
    for plain, tex in (
        ("\\", r"\textbackslash{}"),
        ("_", r"\_"),
        ("%", r"\%"),
        ("&", r"\&"),
        ("#", r"\#"),
        ("±", r"$\pm$"),
        ("–", "--"),
        ("≤", r"$\leq$"),
        ("≥", r"$\geq$"),
    ):
        text = text.replace(plain, tex)
    return re.sub(r"(?<![\w-])-(?=\d)", "$-$", text)
