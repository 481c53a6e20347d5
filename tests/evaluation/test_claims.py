"""Claims: statistics with intervals in closed form, verdicts, figure and table."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import claim_tables, claims, outcomes, reproduction, tables
from harness.figures import claims_plot, figure_files

HEAD = "item,row,column,value,unit,plus_minus,reps,precision,source,place,quote\n"
ROWS = """\
claims,kde is an outlier,excess of its risk,0,above,,,,claim,Section 4,"It is, we find, an outlier."
claims,the area falls little,decrease of the AUROC,0.001,below,,,,claim,Figure 3,Below .001.
claims,two orders are alike,share of equal orders,0.5,above,,,,claim,,They agree.
claims,networks differ,difference on ImageNet,0,above,,,,claim,Table 9,They differ.
"""
SETTINGS = Settings.from_dict({"paper": "paper", "compare": ["claims"]})


@pytest.fixture
def paper(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "paper_folder", lambda paper: tmp_path / paper)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "reported.csv").write_text(HEAD + ROWS)


@pytest.fixture
def statistics(paper):
    return {
        "the area falls little": claims.exact(0.004, 0.0005, ["b"], claims.OURS, "of our networks"),
        "kde is an outlier": claims.estimate_mean(
            [4.0, 5.0, 6.0, 5.0] * 3, ["a", "c"], claims.PAPER
        ),
        "two orders are alike": claims.estimate_share(9, 12, [("a", "b"), ("a",)], claims.PAPER),
        "networks differ": claims.untested("ImageNet's pictures are needed."),
    }


def test_a_mean_has_students_interval():
    """1 to 11: sd sqrt(11), so 6 +- t(0.995, 10) with t = 3.169."""
    mean = claims.estimate_mean([*range(1, 12), np.nan], pd.Series(["k", "l", "k"]), claims.OURS)
    assert (mean.value, mean.low, mean.high) == pytest.approx((6.0, 6 - 3.1692727, 6 + 3.1692727))
    assert mean.keys == ("k", "l") and mean.cells == 11
    none = claims.estimate_mean([np.nan], ["k"], claims.OURS)
    assert np.isnan(none.value) and none.why and none.keys == ("k",)


@pytest.mark.parametrize("values", [[0.3], [1.0, 2.0, 3.0], range(10)])
def test_ten_values_or_fewer_have_no_interval_and_decide_nothing(paper, values):
    name = "kde is an outlier"
    mean = claims.estimate_mean(values, (), claims.OURS, "ours")
    assert (mean.low, mean.high) == (-np.inf, np.inf) and str(len(values)) in mean.why
    row = claim_tables.judged({name: mean}, SETTINGS).set_index("row").loc[name]
    assert row["verdict"] == "undecided" and np.isnan([row["low"], row["high"]]).all()


@pytest.mark.parametrize(("value", "verdict"), [(0.001, "fails"), (0.0009, "holds")])
def test_an_exact_number_decides_without_an_interval(paper, value, verdict):
    name = "the area falls little"
    exact = {name: claims.exact(value, 0.0, (), claims.OURS)}
    row = claim_tables.judged(exact, SETTINGS).set_index("row").loc[name]
    assert row["verdict"] == verdict and np.isnan([row["low"], row["high"]]).all()


def test_a_difference_is_paired():
    """Values that vary much with a constant difference of 1: an interval without width."""
    first = np.array([10.0, -5.0, 3.0, np.nan, *range(8)])
    paired = claims.estimate_difference(first + 1, first, (), claims.OURS)
    assert (paired.value, paired.low, paired.high, paired.cells) == pytest.approx((1, 1, 1, 11))


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 10), (50, 90)])
def test_a_share_has_the_interval_of_clopper_and_pearson(successes, trials):
    """At each end the binomial law gives half a percent to what was seen and beyond."""
    result = claims.estimate_share(successes, trials, (), claims.OURS)
    assert result.value == successes / trials and result.cells == trials
    assert (
        result.low == 0
        if successes == 0
        else stats.binom.sf(successes - 1, trials, result.low) == pytest.approx(0.005)
    )
    assert (
        result.high == 1
        if successes == trials
        else stats.binom.cdf(successes, trials, result.high) == pytest.approx(0.005)
    )


def test_a_share_of_nothing_is_no_number():
    assert np.isnan(claims.estimate_share(0, 0, (), claims.OURS).value)


def test_a_number_with_its_error_has_the_normal_interval():
    result = claims.exact(1.0, 0.1, (), claims.OURS)
    assert (result.low, result.high) == pytest.approx((1 - 0.2575829, 1 + 0.2575829))
    certain = claims.exact(1.0, 0.0, (), claims.OURS)
    assert certain.low == certain.value == certain.high


def test_the_worst_of_many_has_an_interval_of_its_own():
    """The smallest of 20 coverages whose expectation is 0.95 lies below 0.95 by chance.

    Its interval, at a level that holds for 20 statistics at once, contains 0.95.
    """
    hits = np.random.default_rng(0).binomial(200, 0.95, size=20)
    parts = [
        claims.estimate_share(k, 200, [f"k{i}"], claims.PAPER, f"setting {i}", claims.among(20))
        for i, k in enumerate(hits)
    ]
    worst = claims.smallest(parts)
    assert (
        worst.value == hits.min() / 200 and worst.low < 0.95 <= worst.high and worst.cells == 4000
    )
    assert (
        worst.why == f"setting {hits.argmin()}"
        and len(worst.keys) == 20
        and worst.where == claims.PAPER
    )
    most = claims.largest(
        [*parts, claims.untested("no file"), claims.exact(2.0, 0.0, (), claims.OURS)]
    )
    assert most.value == most.high == 2.0 and most.where == claims.OURS
    assert np.isnan(claims.smallest([claims.untested("no file")]).value)
    assert claims.among(1) == pytest.approx(claims.LEVEL)


def test_enough_digits_are_shown_to_see_the_side(paper):
    """0.0009996 is below 0.001, which three digits would hide."""
    name = "the area falls little"
    result = claim_tables.table(
        {name: claims.exact(0.0009996, 0.0, (), claims.OURS)}, SETTINGS
    ).loc[name]
    assert result["result"] == "holds, with 0.0009996, below 0.001"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: claims.Statistic(1.0, 2.0, 3.0, claims.OURS), "value 1.0"),
        (lambda: claims.Statistic(1.0, 0.0, 3.0, "theirs"), "where is 'theirs'"),
        (lambda: claims.Statistic(np.nan, np.nan, np.nan, claims.OURS), "why is empty"),
        (lambda: claims.estimate_share(5, 4, (), claims.OURS), "value 1.25"),
        (lambda: claims.exact(1.0, -0.1, (), claims.OURS), "interval"),
    ],
)
def test_a_statistic_is_checked(make, says):
    with pytest.raises(BadInputError, match=says):
        make()


def test_claims_are_judged_in_the_papers_order(statistics):
    result = claim_tables.judged(statistics, SETTINGS)
    assert result["row"].to_list()[0] == "kde is an outlier"
    assert result["verdict"].to_list() == ["holds", "fails", "undecided", "not reproducible here"]
    assert result["where"].to_list()[:3] == ["the paper's data", "ours", "the paper's data"]
    assert (
        result["reason"].to_list()[1] == "of our networks"
        and result["reason"].to_list()[3] == "ImageNet's pictures are needed."
    )
    assert (
        result["keys"].to_list() == [("a", "c"), ("b",), ("a", "b"), ()]
        and result["reps"].to_list()[2] == 12
    )
    assert outcomes.count_by_source(result) == {
        "claim": {"holds": 1, "fails": 1, "undecided": 1, "not reproducible here": 1}
    }


def test_a_claim_that_nobody_made_is_refused(statistics):
    with pytest.raises(
        BadInputError, match=r"'kde is an outlyer' is no claim .*did you mean 'kde is an outlier'"
    ):
        claim_tables.reproduced({"kde is an outlyer": statistics["kde is an outlier"]}, SETTINGS)


def test_a_claim_without_a_statistic_is_left_to_the_comparison(paper):
    result = claim_tables.judged({}, SETTINGS)
    assert set(result["verdict"]) == {"not reproducible here"} and result["reason"].notna().all()


def test_the_table_says_what_the_paper_says_and_what_was_found(statistics):
    result = claim_tables.table(statistics, SETTINGS)
    row = result.loc["the area falls little"]
    assert (
        row["the paper says"] == "“Below .001.” (Figure 3)"
        and row["it holds if this is"] == "below 0.001"
    )
    assert row["result"] == "fails, with 0.0027 to 0.0053, not below 0.001" and row["on"] == "ours"
    assert result.loc["networks differ", "result"] == "not tested here"
    assert not result.map(lambda text: "nan" in text).any(axis=None)


def test_figure_and_tables_are_written(statistics, tmp_path):
    files = figure_files.save(
        claims_plot.figure(statistics, SETTINGS), tmp_path / "claims", SETTINGS
    )
    files += tables.save(
        claim_tables.summary(statistics, SETTINGS),
        claim_tables.table(statistics, SETTINGS),
        tmp_path / "claims",
    )
    assert all(path.stat().st_size for path in files)
    written = pd.read_csv(tmp_path / "claims.csv")
    assert (
        written["verdict"].to_list()[:2] == ["holds", "fails"]
        and written["quote"].str.len().gt(0).all()
    )


def test_the_figure_names_every_claim_within_its_margins(statistics):
    """Shaded is the claimed side, to the right in every row.

    The marks of the verdicts differ in form and colour.
    """
    statistics["the area falls little"] = claims.Statistic(
        0.00251, 0.001000558, 0.00346123, claims.OURS, ["b"]
    )
    statistics["kde is an outlier"] = claims.exact(0.00123, 0.0001234, (), claims.PAPER)
    figure = claims_plot.figure(statistics, SETTINGS)
    assert "1 holds, 1 fails, 1 undecided, 1 not reproducible here" in figure.get_label()
    (ax,) = figure.axes
    marks = {
        line.get_marker(): line.get_xdata()[0]
        for line in ax.lines
        if line.get_marker() in ("o", "X", "D")
    }
    assert marks["o"] > 0 > marks["X"] and marks["D"] > 0
    texts = " ".join(text.get_text().replace("\n", " ") for text in ax.texts)
    shown = ("kde is an outlier", "● holds, ", "on the paper's data", "✖ fails, ", "on our data")
    assert all(text in texts for text in shown)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    for text in ax.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height, text.get_text()


def test_a_figure_of_nothing_says_so(paper):
    assert "No cell" in claims_plot.figure({}, SETTINGS).get_label()
