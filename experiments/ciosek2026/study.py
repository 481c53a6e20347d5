"""What the paper's study costs: its three bounds on four functions, 64 samples at every n. The paper says about four minutes, for
sizes up to 10^7, of one machine that it does not name; whether for one function or for all is not known."""

import json

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import reproduction
from harness.report.plots import COLOURS, WIDTH, pyplot
from harness.runs.config import out_folder

PRINTED = "64 repeats, n up to 10,000,000"


def cells(records):
    """One row per cell that gave a number."""
    return records[records["status"].eq("ok")].drop_duplicates("key")


def elapsed(records, config):
    """Wall-clock seconds of the runs that these records are from, drawing the samples included; NaN unless all of them were runs
    of this very experiment that came to an end."""
    folder, total = out_folder(config["out"]) / "runs", 0.0
    for run_id in set(records["run_id"].dropna()):
        try:
            run = json.loads((folder / f"{run_id}.json").read_text())
        except (OSError, ValueError):
            return np.nan
        if run.get("config", {}).get("name") != config["name"] or run.get("state") != "finished":
            return np.nan
        total += run["seconds"]
    return total if total else np.nan


def printed():
    return reproduction.reported("ciosek2026", ["study"]).set_index("row").loc[PRINTED, "value"]


def render(records, config):
    """Left: mean CPU seconds of one bound on one sample against n. Right: CPU seconds of the whole study by method, and the
    paper's."""
    plt = pyplot()
    found = cells(records)
    if not len(found):
        return bounds.nothing()
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 2.6), layout="constrained")
    chosen = bounds.shown(config, found)
    for i, estimator in enumerate(chosen):
        mean = found[found["estimator"].eq(estimator)].groupby("n")["cpu_seconds"].mean()
        left.plot(mean.index, mean, label=bounds.name(estimator, config), **bounds.style(estimator, i))
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("number of samples $n$")
    left.set_ylabel("CPU seconds, one sample")
    totals = found.groupby("estimator")["cpu_seconds"].sum().reindex(chosen)
    names = [bounds.name(e, config) for e in chosen] + ["sum of the bounds"] * (len(chosen) > 1)
    values = [*totals, totals.sum()][: len(names)]
    colours = [bounds.style(e, i)["color"] for i, e in enumerate(chosen)] + ["0.35"]
    right.barh(names, values, color=colours[: len(names)], height=0.6)
    wall = elapsed(records, config)
    if wall == wall:
        right.axvline(wall, color="0.2", linestyle=":", label=f"wall clock, {wall:.3g} s, samples drawn")
    right.axvline(printed(), color=COLOURS[1], linestyle="--", label=f"paper, about {printed():.0f} s")
    right.invert_yaxis()
    right.set_xlim(0.0, None)
    right.grid(axis="y", visible=False)
    right.set_xlabel(f"CPU seconds, {found['problem'].nunique()} functions, {found['rep'].nunique()} samples")
    bounds.legend(figure, [left, right], columns=3)
    return figure


def table(records, config):
    """Rows: the methods, their sum, the sum of one function (mean), wall-clock seconds of the cells and of the runs (with the
    samples drawn), the paper. Columns: n, all n."""
    found, rows = cells(records), {}
    sizes = sorted(found["n"].unique())

    def row(part, column="cpu_seconds", share=1.0):
        by = part.groupby("n")[column].sum() * share
        return {**{f"n = {n:,}": _seconds(by.get(n, np.nan)) for n in sizes}, "all n": _seconds(by.sum())}

    for estimator in bounds.shown(config, found):
        rows[f"{bounds.plain(bounds.name(estimator, config))}, CPU seconds"] = row(found[found["estimator"].eq(estimator)])
    count = max(found["problem"].nunique(), 1)
    rows["all of them, CPU seconds"] = row(found)
    rows["one function (mean), CPU seconds"] = row(found, share=1.0 / count)
    rows["all of them, wall-clock seconds of the cells"] = row(found, "seconds")
    rows["the runs, wall-clock seconds, samples drawn"] = {"all n": _seconds(elapsed(records, config))}
    rows["paper, about"] = {"all n": _seconds(printed())}
    title = f"seconds for {count} functions and {found['rep'].nunique()} samples each"
    return bounds.frame({(name,): entries for name, entries in rows.items()}, ["what"], title)


def _seconds(value):
    return f"{value:.3g}" if value == value else "–"


def reproduced(records, config):
    """CPU seconds of all cells, of other hardware and so not judged."""
    found = cells(records)
    row = {
        "row": PRINTED,
        "column": "seconds",
        "value": found["cpu_seconds"].sum(),
        "error": np.nan,
        "reps": found["rep"].nunique(),
    }
    return bounds.answer(config["compare"], pd.DataFrame([{**row, "why": config["reasons"]["seconds"]}]))
