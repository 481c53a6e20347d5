"""docs/ agrees with the code: examples, generated parts, lists of names, quoted results."""

import importlib
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harness
from harness.calibrators import Isotonic
from harness.common.columns import SUMMARY_COLUMNS
from harness.estimators import Binned
from harness.estimators.application import KINDS
from harness.evaluation import reproduction
from harness.math import estimands, notions
from harness.records import schema

ROOT = Path(__file__).resolve().parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"
P, Y = np.array([0.1, 0.4, 0.7, 0.8]), np.array([0, 1, 0, 1])
PAGES = sorted([*(DOCS / "reference").glob("*.md"), *(DOCS / "explanation").glob("*.md")])
COSTLY = {  # seconds each
    "explanation/binning.md: figure",
    "explanation/binning.md: arena",
    "explanation/best.md: class-wise",
    "explanation/trust.md: extent",
}


@pytest.fixture(scope="module")
def gen():
    """Return a module of tools/docs: gen("write")."""
    sys.path.insert(0, str(ROOT / "tools" / "docs"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "tools" / "docs"))


def page(name):
    return (DOCS / name).read_text()


def built(gen, name):
    """Return the text of a page with the lists that `make docs` fills in."""
    return gen("component_lists").filled(name, page(name))


def column(text, heading, number=0):
    """Return the code words of a column of the first table below a heading."""
    rows = re.findall(r"^\|(.*)\|$", text.split(f"# {heading}\n", 1)[1].split("\n#", 1)[0], re.M)[
        2:
    ]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[number])]


def test_the_four_points_by_hand_agree_with_the_estimators():
    text = " ".join(page("explanation/which-error.md").split())

    def value_of(estimator, estimand="l1", notion="binary", **changed):
        instance = harness.load_estimator(estimator, **changed)
        return harness.estimate(instance, np.column_stack([1.0 - P, P]), Y, notion)[estimand].value

    assert Isotonic().fit(P, Y, None)(P) == pytest.approx([0.0, 0.5, 0.5, 1.0])
    assert np.mean(np.abs(P - [0.0, 0.5, 0.5, 1.0])) == pytest.approx(0.15)
    by_hand = {
        "One bin: abs(0.5 − 0.5) = **0**": (value_of("binned15", bins=1), 0.0),
        "= **0.25**.": (value_of("binned15", bins=2), 0.25),
        "(0.1 + 0.6 + 0.7 + 0.2) / 4 = **0.4**": (value_of("binned15"), 0.4),
        "`sweep_width`, which chooses the number itself, gives 0.25": (
            value_of("sweep_width"),
            0.25,
        ),
        "0.225 − 0.125 = **0.1**": (value_of("corp", "l2_squared"), 0.1),
        "discrimination 0.25 − 0.125 = **0.125**": (
            value_of("corp", "sharpness_l2_squared"),
            0.125,
        ),
        "uncertainty ½ · ½ = **0.25**": (value_of("corp", "uncertainty_l2_squared"), 0.25),
        "| gain in `l1` (`variational_isotonic_insample`)": (
            value_of("variational_isotonic_insample"),
            0.4,
        ),
        "(0.01 + 0.36 + 0.49 + 0.04) / 4 = **0.225**": (value_of("brier", "brier"), 0.225),
        "largest distance from 0, **0.125**": (value_of("ks", "ks"), 0.125),
        "0.125 + 0.05 = **0.175**": (value_of("kuiper", "kuiper"), 0.175),
        "0.225 − 0.625 = **−0.4**": (value_of("variational_isotonic", "l2_squared", folds=4), -0.4),
        "| Brier score | 0.225 | 0.225 | 0.225 | 0.45 |": (
            value_of("brier", "brier", "canonical"),
            0.45,
        ),
        "| `corp`, miscalibration (`l2_squared`) | 0.1 | 0.225 | 0.1 | – |": (
            value_of("corp", "l2_squared", "top_label"),
            0.225,
        ),
        "| `kde_likelihood`, `l1` | 0.320 | 0.184 |": (
            round(value_of("kde_likelihood", notion="top_label"), 3),
            0.184,
        ),
    }
    for words, (ours, value) in by_hand.items():
        assert words in text, words
        assert ours == pytest.approx(value, abs=1e-9), words
    assert [
        round(harness.estimate(name, P, Y, "binary")["p_value"].value, 2)
        for name in ("ks", "kuiper")
    ] == [0.96, 0.99]
    ours = [
        round(harness.estimate("kde_likelihood", P, Y, notion)["l1"].value, 3)
        for notion in ("binary", "canonical")
    ]
    assert ours == [0.32, 0.64] and Binned(4)(P, Y)["l1"].value == pytest.approx(0.4)


def test_every_estimator_is_on_the_four_points_once(gen):
    kept, names = gen("four_points").stored(), harness.list_estimators()
    assert set(kept) <= set(names)  # a new estimator has no stored rows
    text = built(gen, "explanation/glossary.md").split("begin four points")[1]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(named) == names
    assert all(
        row["reason"] or not math.isnan(float(row["value"]))
        for rows in kept.values()
        for row in rows
    )


@pytest.mark.parametrize("group", ["estimators", "problems"])
def test_every_id_has_one_place_in_the_reference(gen, group):
    placed = re.findall(r'<span id="(\w+)"></span>`\1`', built(gen, f"reference/{group}.md"))
    assert sorted(placed) == getattr(harness, f"list_{group}")()


def test_the_reference_documents_every_calibrator_of_an_estimator(gen):
    documented = re.findall(
        r"^::: harness\.calibrators\.(?:\w+\.)*(\w+)$", built(gen, "reference/calibrators.md"), re.M
    )
    estimators = map(harness.load_estimator, harness.list_estimators())
    kinds = {type(getattr(estimator, "calibrator", None)) for estimator in estimators}
    ours = {k.__name__ for k in kinds if k.__module__.startswith("harness.calibrators.")}
    assert len(ours) > 10 and ours <= set(documented)
    assert sorted(documented) == documented


@pytest.mark.slow
def test_the_four_points_are_what_the_estimators_give_now(gen):
    four_points = gen("four_points")
    kept = four_points.stored()
    fresh = {name: rows for name, rows in four_points.current(kept)}
    assert {name: rows for name, rows in fresh.items() if rows != kept[name]} == {}


def test_parts_that_follow_from_the_code_are_current(gen):
    """`python tools/docs/write.py` writes them."""
    write = gen("write")
    assert list(write.stale(lambda part: part not in COSTLY)) == []


@pytest.mark.slow
def test_parts_that_follow_from_the_arena_are_current(gen):
    write = gen("write")
    assert list(write.stale(lambda part: part in COSTLY)) == []


def test_the_lists_of_columns_are_complete():
    text = page("reference/records.md")
    types = re.findall(r"^\| `(\w+)` \| (str|int|float|arrays) \|", text, re.M)
    assert dict(types) == {**schema.COLUMNS, "truth": "float", "truth_error": "float"}
    assert [name for name, _ in types] == [*schema.COLUMNS, "truth", "truth_error"]
    assert set(column(text, "Summaries")) == set(SUMMARY_COLUMNS)
    assert set(column(text, "reproduction.csv")) == set(reproduction.COLUMNS) | {"experiment"}
    statuses = {"ok", "undefined", "skipped", "failed", "interrupted", "imported"}
    assert set(column(text, "Statuses")) >= statuses >= {*schema.FINISHED, *schema.WITH_NUMBER}
    assert column(text, "Kinds of estimates") == list(KINDS)


def test_the_glossary_names_every_estimand_and_notion():
    text = page("explanation/glossary.md").split("## Every estimator")[0]
    named = set(re.findall(r"`([\w<>.]+)`", text))
    wanted = {
        *estimands.SCALAR,
        *estimands.CANONICAL,
        *estimands.ORDERINGS,
        *estimands.OF_KERNELS,
        *estimands.OF_DEFINITIONS,
    }
    wanted |= {*estimands.OF_OUTCOMES, *estimands.TESTS, *notions.NOTIONS}
    assert wanted <= named, wanted - named


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_experiments_and_files_that_are_named_exist(path):
    text = path.read_text()
    ids = set(re.findall(r"calharness (?:report |plan )?experiment=(\w+)", text))
    assert ids <= set(harness.list_experiments()), ids - set(harness.list_experiments())
    files = re.findall(
        r"`((?:experiments|harness|tests|results|docs|conf)/[\w./-]+\.(?:md|py|yaml|csv|html))`",
        text,
    )
    assert all((ROOT / name).exists() for name in files if "<" not in name), files


NOTED = [  # paper, claim, how its NOTES.md or paper.yaml quotes value and interval, file
    ("berta2026", "foundation models recover most", "0.2 points (-10.5 to 10.9", "NOTES.md"),
    ("berta2026", "foundation models recover most", "0.2 (-10.5 to 10.9", "paper.yaml"),
    (
        "berta2026",
        "warm-started CatBoost is the best without a GPU",
        "3.1 (-7.2 to 7.7)",
        "NOTES.md",
    ),
]


@pytest.mark.parametrize(
    "paper, claim, quoted, file", NOTED, ids=[", ".join([*noted[:2], noted[3]]) for noted in NOTED]
)
def test_notes_quote_the_claims_as_they_came_out(paper, claim, quoted, file):
    assert quoted in " ".join((ROOT / "experiments" / paper / file).read_text().split())
    line = pd.read_csv(RESULTS / paper / "claims.csv").set_index("claim").loc[claim]
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", quoted)]
    assert numbers == [round(line[name], 1) for name in ("value", "low", "high")]


@pytest.mark.parametrize("paper", sorted(path.parent.name for path in RESULTS.glob("*/claims.csv")))
def test_notes_count_the_claims_as_they_came_out(paper):
    """NOTES.md states how many claims there are, hold, fail and are undecided."""
    text = " ".join((ROOT / "experiments" / paper / "NOTES.md").read_text().split())
    verdicts = pd.read_csv(RESULTS / paper / "claims.csv")["verdict"]
    counts = verdicts.value_counts()
    patterns = {
        "": r"(\d+) (?:claims|conclusions)\b",
        "holds": r"(\d+) holds?\b",
        "fails": r"(\d+) fails?\b",
    }
    for verdict, pattern in (patterns | {"undecided": r"(\d+) (?:is|are) undecided"}).items():
        quoted = {int(number) for number in re.findall(pattern, text)}
        assert quoted <= {int(counts.get(verdict, 0)) if verdict else len(verdicts)}, (
            verdict,
            quoted,
        )
