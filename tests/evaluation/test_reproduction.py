"""A broken table of reported numbers is told in one sentence, whatever is broken."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from harness.common.paths import EXPERIMENTS
from harness.errors import BadInputError
from harness.evaluation import missing, outcomes, reproduction, verdicts

HEAD = "item,row,column,value,unit,plus_minus,reps,precision,source\n"
CLAIMS = HEAD.replace("source", "source,place,quote")
T = norm.ppf(0.9995)
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/reported.csv"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("item,row,column\nfig1,a,b\n", "lacks the columns value"),
        (HEAD + "fig1,a,b,many,1,0.1,10,0,printed\n", "'many' in the column value"),
        (HEAD + "fig1,a,b,0.1,1,0.1,ten,0\n", "'ten' in the column reps"),
        (
            HEAD + "fig1,a,b,0.1,1,0.1,10,0,printed\nfig1,a,b,0.2,1,0.1,10,0,printed\n",
            "['fig1', 'a', 'b'] twice",
        ),
        (HEAD + 'fig1,"a,b,0.1,1\n', "cannot be read"),
        (HEAD.replace(",source", "") + "fig1,a,b,0.1,1,0.1,10,0\n", "lacks the column source;"),
        (HEAD + "fig1,a,b,0.1,1,0.1,10,0,Printed\n", "'Printed' in the column source"),
        (HEAD + "fig1,a,b,0.1,1,0.1,10,0,\n", "nan in the column source"),
        (CLAIMS + "fig1,a,b,0.1,over,,,,claim,p. 1,We win.\n", "(a) that has a unit other"),
        (CLAIMS + "fig1,a,b,,above,,,,claim,p. 1,We win.\n", "(a) that has no threshold"),
        (CLAIMS + "fig1,a,b,1,above,,,,claim,p. 1,\n", "(a) that has no quote"),
        (
            CLAIMS + "fig1,a,b,1,above,,,,claim,,We win.\nfig1,a,c,1,above,,,,claim,,We win.\n",
            "(a) that is there twice",
        ),
        (HEAD, "compare names fig1"),
        (None, "does not exist"),
    ],
)
def test_one_sentence(tmp_path, monkeypatch, text, says):
    monkeypatch.setattr(reproduction, "paper_folder", lambda paper: tmp_path / paper)
    (tmp_path / "paper").mkdir()
    if text is not None:
        (tmp_path / "paper" / "reported.csv").write_text(text)
    with pytest.raises(BadInputError) as error:
        reproduction.reported("paper", ["fig1"])
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_sound_table_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "paper_folder", lambda paper: tmp_path / paper)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "reported.csv").write_text(
        HEAD + "fig1,a,b,0.1,1,,10,0,printed\nfig2,a,b,0.3,1,,10,0,printed\n"
    )
    assert reproduction.reported("paper", ["fig1"])["value"].tolist() == [0.1]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_the_papers_has_a_source(paper):
    files = sorted((EXPERIMENTS / paper).glob("reported*"))
    tables = [
        pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path) for path in files
    ]
    result = reproduction.reported(paper, pd.concat(tables)["item"].unique())
    assert (
        len(result) == sum(map(len, tables)) and result["source"].isin(reproduction.SOURCES).all()
    )


@pytest.mark.parametrize("name", PAPERS)
def test_claims_have_their_words_and_place(name):
    """A paper with claims has at least six, and a module that tests them."""
    claims = pd.read_csv(EXPERIMENTS / name / "reported.csv").query("source == 'claim'")
    if len(claims):
        assert claims[["value", "place", "quote"]].notna().all(axis=None)
        assert set(claims["item"]) == {"claims"}
        assert len(claims) >= 6 and (EXPERIMENTS / name / "claims.py").is_file()


# Verdicts. The paper prints x as 2.0, with one digit after the point, and y as 0.
# For z it prints a standard error as well.

ROWS = """table1,x,number,2.0,,,,0.1,printed
table1,y,number,0,,,,0.1,printed
table1,z,number,2.0,,0.1,9,0.1,printed
table1,z,number (standard error),0.1,,0.025,9,0.1,printed
table1,z,number (standard deviation),0.3,,,9,0.1,printed
table1,w,number,1.0,,,,0,recomputed by independent code
"""
CLAIM_ROWS = """claims,more,mean,0.5,above,,,,claim,p. 1,It is more.
claims,less,mean,0.5,below,,,,claim,p. 2,It is less.
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "paper_folder", lambda paper: tmp_path / paper)
    (tmp_path / "paper").mkdir()
    numbers = "".join(f"{row},,\n" for row in ROWS.splitlines())
    (tmp_path / "paper" / "reported.csv").write_text(CLAIMS + numbers + CLAIM_ROWS)
    return "paper"


def judged(paper, *rows, item="table1", reasons=None, **more):
    """reproduction.compare of (row, value, error, reps) or dictionaries, by row and column."""
    named = [
        dict(zip(("row", "value", "error", "reps"), row)) if isinstance(row, tuple) else row
        for row in rows
    ]
    ours = pd.DataFrame(
        [{"item": item, "column": "number", "reps": np.inf, **row} for row in named]
    )
    return reproduction.compare(ours, paper, [item], reasons, **more).set_index(["row", "column"])


def test_exactly_half_is_a_test(paper):
    """The paper prints 2.0 with one digit. An error whose t quantile is 1.0 accepts 50 % of 2.0.

    An error whose t quantile is 1.008 accepts 50.4 %.
    """
    half, more = (
        judged(paper, ("x", 2.0, size / T)).loc[("x", "number")] for size in (1.0000001, 1.008)
    )
    assert (half["verdict"], half["power"]) == ("identical", 0.5)
    assert (more["verdict"], more["power"]) == ("no test", 0.504)


@pytest.mark.parametrize(
    ("row", "value", "error", "verdict", "power"),
    [
        ("x", 2.04, 0.0, "identical", 0.025),
        ("x", 2.5, 0.0, "differs", 0.025),
        ("x", 2.04, 0.98 / T, "identical", 0.49),
        ("x", 2.9, 0.98 / T, "within error", 0.49),
        ("x", 2.9, 1.02 / T, "no test", 0.51),
        ("x", 2.0, 1.02 / T, "no test", 0.51),
        ("x", 3.1, 1.02 / T, "differs", 0.51),
        ("y", 0.0, 0.0, "no test", np.inf),
        ("y", 0.01, 0.1, "no test", np.inf),
        ("y", 0.1, 0.1, "no test", np.inf),
        ("y", 9.0, 0.1, "differs", np.inf),
        ("x", 2.5, np.nan, "not reproducible here", np.nan),
        ("x", np.nan, np.nan, "not reproducible here", np.nan),
    ],
)
def test_an_agreement_that_would_have_accepted_more_than_half_is_no_test(
    paper, row, value, error, verdict, power
):
    """The half-widths are 49 % and 51 % of 2.0. T is the 0.1 % quantile of the normal law."""
    result = judged(paper, (row, value, error)).loc[(row, "number")]
    assert result["verdict"] == verdict and result["power"] == pytest.approx(
        power, rel=1e-5, nan_ok=True
    )
    if verdict == "no test":
        why = {
            "x": "a difference of more than half of the reported number",
            "y": "both numbers are 0" if value < 0.05 else "the reported number is 0",
        }
        assert result["reason"].startswith(why[row])


def test_on_the_same_draws_the_power_is_that_of_equality(paper):
    result = judged(paper, ("w", 1.0, 0.5), same_draws_as_paper=True).loc[("w", "number")]
    assert result["verdict"] == "identical" and result["power"] == pytest.approx(1e-9)


def test_exactly_half_of_the_number_is_a_test(tmp_path, paper):
    """0.001 with three digits after the point accepts 0.0005 to 0.0015."""
    (tmp_path / paper / "reported.csv").write_text(
        HEAD + "table1,x,number,0.001,,,,0.001,printed\n"
    )
    assert judged(paper, ("x", 0.0012, 0.0)).loc[("x", "number"), "verdict"] == "identical"


def test_a_number_of_something_else_has_no_power(paper):
    result = judged(paper, {"row": "x", "value": 2.0, "error": 0.1, "why": "other data"}).loc[
        ("x", "number")
    ]
    assert (
        result["verdict"] == "not reproducible here"
        and result["reason"] == "other data"
        and np.isnan(result["power"])
    )


def test_printed_standard_errors_are_answered_by_ours(paper):
    """s / sqrt(2 (reps - 1)) is the error of a standard error s: 0.12 / 4 of nine replications."""
    number, error = "number", "number (standard error)"
    result = judged(paper, ("z", 2.02, 0.12, 9)).loc[("z", error)]
    assert (result["ours"], result["reps"], result["verdict"]) == (
        0.12,
        9,
        "no test",
    )  # t of 16 degrees of freedom is 4.0
    assert result["error"] == pytest.approx(0.03) and result["source"] == "printed"
    own = judged(
        paper, ("z", 2.02, 0.12, 9), {"row": "z", "column": error, "value": 0.3, "error": 0.0}
    ).loc[("z", error)]
    assert (own["ours"], own["verdict"]) == (0.3, "differs")
    message = judged(
        paper, ("z", 2.02, 0.12, 9), {"row": "z", "column": error, "why": "no file holds it"}
    ).loc[("z", error)]
    assert message["ours"] == 0.12
    for given, why in (
        ({"value": 2.02, "reps": 1}, "one replication has no standard error"),
        (
            {"value": 2.02, "error": 0.0},
            "our number is not a mean over replications, and so has no standard error",
        ),
        (
            {"value": 2.02, "error": 0.1, "reps": np.nan},
            "the number of replications behind our standard error is unknown",
        ),
        ({"value": 2.02, "error": 0.1, "reps": 9, "why": "other data"}, "other data"),
        ({"why": "failed: no memory"}, "failed: no memory"),
    ):
        result = judged(paper, {"row": "z", "value": np.nan, "error": np.nan, **given}).loc[
            ("z", error)
        ]
        assert (result["verdict"], result["reason"]) == ("not reproducible here", why)
    result = judged(paper, ("x", 2.0, 0.1), reasons={number: "no network"}).loc["z"]
    assert (
        result["reason"].eq("no network").all() and len(result) == 3
    )  # the standard deviation is the item's to answer


@pytest.mark.parametrize(
    ("low", "high", "more", "less"),
    [
        (0.51, 0.7, "holds", "fails"),
        (0.3, 0.49, "fails", "holds"),
        (0.49, 0.7, "undecided", "undecided"),
        (0.5, 0.5, "fails", "fails"),
        (-np.inf, np.inf, "undecided", "undecided"),
    ],
)
def test_claims_hold_fail_or_are_undecided(paper, low, high, more, less):
    given = {
        "column": "mean",
        "value": (low + high) / 2 if np.isfinite(low) else 0.6,
        "low": low,
        "high": high,
        "where": "ours",
    }
    rows = [
        {"row": name, "why": "what was compared", "error": np.nan, **given}
        for name in ("more", "less")
    ]
    result = judged(paper, *rows, item="claims").droplevel("column")
    assert result["verdict"].to_dict() == {"more": more, "less": less}
    assert result["power"].isna().all() and result["z"].isna().all()
    assert set(result["reason"]) == {"what was compared"} and set(result["where"]) == {"ours"}


def test_a_claim_without_a_statistic_is_not_reproducible_here(paper):
    result = judged(
        paper,
        {"row": "more", "column": "mean", "value": np.nan, "error": np.nan, "why": "no network"},
        item="claims",
    )
    assert set(result["verdict"]) == {"not reproducible here"}
    assert result["reason"].to_list() == [
        "no network",
        "this experiment does not compute this number",
    ]


def test_what_is_not_said_is_none(paper):
    """NaN is true, and would be printed."""
    result = judged(paper, ("x", 2.0, 0.0), ("w", 3.0, 0.1)).loc[["x", "w"]]
    assert result["reason"].to_list() == result["where"].to_list() == [None, None]


def test_printed_numbers_are_counted_apart(paper):
    result = judged(paper, ("x", 2.0, 0.0), ("y", 0.0, 0.0), ("w", 3.0, 0.1))
    assert list(outcomes.count_by_source(result).items()) == [
        ("printed", {"identical": 1, "no test": 1, "not reproducible here": 3}),
        ("recomputed by independent code", {"differs": 1}),
    ]
    assert verdicts.count(result).total() == 6 and verdicts.count(result)["differs"] == 1


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("failed", "Traceback\nValueError: no", "failed: ValueError: no"),
        ("undefined", np.nan, "undefined"),
        ("skipped", None, "skipped"),
        ("skipped", "w" * 300, "skipped: " + "w" * 300),
    ],
)
def test_reasons_are_whole(status, reason, expected):
    assert missing.explain_missing(pd.Series({"status": status, "reason": reason})) == expected


def test_rows_that_name_no_n_are_not_compared_at_another():
    """Rows of berta2026_table2, for example, have n = 5,000 and do not name it."""
    compared = pd.DataFrame(
        {
            "row": ["Both, over", "Both, n = 200", "Both, n = 500"],
            "column": ["ECE", "ECE", "ECE"],
            "ours": [0.1, 0.2, None],
        }
    )
    assert reproduction.rows_of_variation(compared, ["reps"])["ours"].tolist() == [0.1, 0.2]
    assert reproduction.rows_of_variation(compared, ["n"])["row"].tolist() == ["Both, n = 200"]
