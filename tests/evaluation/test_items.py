"""What the papers' items share.

Means with errors, rows beside the reported ones, reasons, tables of texts, panels.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.figures.style import COLOURS

SETTINGS = Settings.from_dict({
    "labels": {"problem": {"a": "A"}, "estimator": {"e": "E"}},
    "problem": {"b": {}, "a": {}},
    "estimator": {"f": {}, "e": {}},
    "compare": ["fig1"],
    "paper": "berta2026",
})  # fmt: skip


def records():
    """Return three replications of e and one of f on problem a, and one failed cell on problem
    b.
    """
    rows = [
        {
            "key": f"k{i}",
            "problem": "a",
            "estimator": name,
            "rep": i,
            "value": value,
            "status": "ok",
            "reason": None,
        }
        for i, (name, value) in enumerate([("e", 0.1), ("e", 0.2), ("e", 0.6), ("f", 0.5)])
    ]
    failed = {"value": np.nan, "status": "failed", "reason": "x\nwhy"}
    rows.append({"key": "k9", "problem": "b", "estimator": "e", "rep": 0, **failed})
    frame = pd.DataFrame(rows)
    frame["estimand"] = frame["status"].map({"ok": "l1"})
    frame["diagnostics"] = ['{"bins": 15}', None, '{"bins": 10, "rank": 2}', None, None]
    fixed = {
        "notion": "binary",
        "n": 1000,
        "truth": 0.3,
        "truth_error": 0.0,
        "low": np.nan,
        "high": np.nan,
        "kind": "point",
    }
    return frame.assign(**fixed, cpu_seconds=1.0, problem_key="p", estimator_key="q")


def test_means_have_errors_and_the_keys_of_their_cells():
    result = items.means(items.values(records(), SETTINGS), ["model", "column"]).set_index("column")
    assert result.loc["E", ["mean", "reps"]].tolist() == [pytest.approx(0.3), 3] and result.loc[
        "E", "keys"
    ] == ("k0", "k1", "k2")
    assert result.loc["E", "se"] == pytest.approx(
        np.std([0.1, 0.2, 0.6], ddof=1) / np.sqrt(3)
    ) and np.isnan(result.loc["f", "se"])
    assert result["model"].tolist() == ["A", "A"]
    again = items.means(result.reset_index(), ["model"], "mean").iloc[0]
    assert again["mean"] == pytest.approx(0.4) and again["keys"] == ("k0", "k1", "k2", "k3")


def test_evaluated_is_evaluate_with_labels_and_keys():
    result = items.evaluated(records(), SETTINGS, "l1").set_index("column")
    assert result.loc["E", "bias"] == pytest.approx(0.0, abs=1e-15) and result.loc["E", "keys"] == (
        "k0",
        "k1",
        "k2",
    )
    assert len(items.evaluated(records(), SETTINGS, "kl")) == 0


def test_filters_labels_orders_and_diagnostics():
    result = records()
    assert (
        len(items.with_number(result)) == 4
        and len(items.with_number(result, "l1", "binary", "point")) == 4
    )
    assert (
        len(items.with_number(result, notion="canonical"))
        == 0
        == len(items.with_number(result, kinds=["upper", "lower"]))
    )
    assert items.labels(SETTINGS, "estimator") == ["f", "E"] and items.labels(
        SETTINGS, "estimator", ["E"]
    ) == ["E"]
    assert items.chosen(SETTINGS, result) == ["f", "e"]
    assert items.chosen(
        replace(SETTINGS, figure=replace(SETTINGS.figure, estimators=["e"])), result
    ) == ["e"]
    assert items.in_order(result, SETTINGS)["key"].tolist() == ["k9", "k3", "k0", "k1", "k2"]
    diagnostics = items.diagnostics(result)
    assert diagnostics["bins"].tolist()[:3:2] == [15, 10] and diagnostics[
        "rank"
    ].notna().tolist() == [
        False,
        False,
        True,
        False,
        False,
    ]


def test_numbers_answers_and_reasons():
    result = items.evaluated(records(), SETTINGS)
    ours = items.numbers(result, "{model}, n = {n:,}", "{column}")
    assert ours["row"].unique().tolist() == ["A, n = 1,000"] and ours["column"].tolist() == [
        "E",
        "f",
    ]
    assert ours.loc[0, ["value", "reps"]].tolist() == [pytest.approx(0.3), 3] and ours.loc[
        0, "keys"
    ] == ("k0", "k1", "k2")
    lost = items.without_number(
        records(), SETTINGS, "{model}, n = {n:,}", ["{column}", "{column}, again"]
    )
    assert lost["why"].unique().tolist() == ["failed: why"] and lost["column"].tolist() == [
        "E",
        "E, again",
    ]
    both = items.together(ours, lost, lost.assign(why="another"))
    assert len(both) == 4 and both["why"].dropna().unique().tolist() == ["failed: why"]
    answers = items.answers(
        both, SETTINGS, otherwise=lambda row, column: "no such" if column == "True value" else None
    )
    assert (
        answers["item"].unique().tolist() == ["fig1"] and answers.columns.tolist() == items.ANSWER
    )
    assert answers["why"].eq("no such").sum() == answers["column"].eq("True value").sum() > 0
    assert (
        items.first_reason(records()) == "failed: why"
        and items.first_reason(records().head(2)) is None
    )
    assert items.answers(items.numbers(result.head(0), "", ""), replace(SETTINGS, compare=[])).empty


def test_tables_of_texts():
    rows = text_tables.entries(
        items.evaluated(records(), SETTINGS), ["{model}", "{n:,}"], "{column}", digits=2
    )
    truths = {"value": "truth", "error": None, "scale": 100}
    text_tables.entries(
        items.evaluated(records(), SETTINGS), ["{model}", "{n:,}"], "truth", **truths, into=rows
    )
    table = text_tables.wide(rows, ["problem", "n"], "l1: mean", first=["truth", "absent"])
    assert table.columns.tolist() == ["truth", "E", "f"] and table.iloc[0].tolist() == [
        "30.0000",
        "0.30 ± 0.15",
        "0.50",
    ]
    none = text_tables.wide({}, ["problem", "n"], "l1")
    assert none.iloc[0, 0] == "none: no cell gave a number" and none.index.nlevels == 2


def test_panels():
    figure, axes = panels.panels(4, per_row=3)
    assert len(axes) == 4 and [ax.get_visible() for ax in figure.axes] == [True] * 4 + [False] * 2
    assert [bool(ax.get_xlabel()) for ax in axes] == [
        False,
        True,
        True,
        True,
    ]  # the lowest of each column
    part = items.evaluated(records(), SETTINGS)
    panels.curve(axes[0], part, label="E", log=True, **panels.look(1, line="-"))
    panels.marks(axes[1], [0, 1], part, scale=100, label="E", **panels.look(1, filled=False))
    panels.truth_line(axes[0], part)
    panels.name_rows(axes[1], ["E", "f"])
    assert axes[0].get_xscale() == "log" and axes[0].containers[0][0].get_color() == COLOURS[1]
    assert sorted(axes[1].containers[0][0].get_xdata()) == pytest.approx([30.0, 50.0])
    assert axes[1].get_ylim() == (1.5, -0.5) and [
        t.get_text() for t in axes[1].get_yticklabels()
    ] == ["E", "f"]
    panels.legend(figure, axes, last=["E"], texts={"true value": "truth"})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["truth", "E"]
    panels.legend(panels.nothing("none"), [])


def test_biases_are_numbers_by_problem_n_and_estimator():
    """Values 0.1, 0.2 and 0.6 of the truth 0.3: the bias is 0, its error sqrt(0.07 / 3)."""
    table = items.bias_numbers(records(), SETTINGS, "l1").set_index(["row", "column"])
    e, f = table.loc[("A, n = 1000", "E")], table.loc[("A, n = 1000", "f")]
    assert e["value"] == pytest.approx(0.0, abs=1e-15) and f["value"] == pytest.approx(0.2)
    assert e["error"] == pytest.approx(np.sqrt(0.07 / 3)) and np.isnan(f["error"])
    assert e["reps"] == 3 and e["item"] == "fig1" and e["keys"] == ("k0", "k1", "k2")
    assert "why" in table.loc[("b, n = 1000", "E"), "why"]
    unknown = items.bias_numbers(records().assign(truth=np.nan), SETTINGS, "l1")
    assert unknown["value"].isna().all()
