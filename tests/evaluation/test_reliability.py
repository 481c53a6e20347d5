"""Reliability diagrams.

PAV by hand, the split of the Brier score, bands at their nominal rate, what is drawn and said.
"""

import numpy as np
import pytest

from harness import BadInputError
from harness.evaluation.reliability import build_table, describe_panels
from harness.figures import reliability_plot
from harness.math import reliability
from harness.math.reliability import compute_band, corp, panels

EDGE_CASES = {
    "one row": ([0.4], [1]),
    "constant p": (np.full(30, 0.3), np.arange(30) % 2),
    "p of 0 and 1": (np.arange(30) % 2.0, np.arange(30) % 3 == 0),
    "all events": (np.linspace(0.0, 1.0, 30), np.ones(30, int)),
    "no event": (np.linspace(0.0, 1.0, 30), np.zeros(30, int)),
}


def sample(n, k, seed=0):
    """Calibrated predictions (n, k) and their labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)


def test_pav_by_hand():
    """0 | 1 0 | 1 1 0 1: the block 1, 0 is 1/2; the block 1, 1, 0 is 2/3."""
    c = corp([0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1, 0, 1])
    assert c.fit == pytest.approx([0, 1 / 2, 1 / 2, 2 / 3, 2 / 3, 2 / 3, 1])
    bins = c.bins
    assert bins["count"].tolist() == [1, 2, 3, 1]
    assert bins["score"] == pytest.approx([0.1, 0.25, 0.6, 0.9])
    assert bins["frequency"] == pytest.approx([0, 1 / 2, 2 / 3, 1])
    assert bins["from"].tolist() == [0.1, 0.2, 0.5, 0.9] and bins["to"].tolist() == [
        0.1,
        0.3,
        0.7,
        0.9,
    ]


def test_equal_scores_share_one_value():
    """At 0.5 three events of four, at 0.8 one of two: pooled, 4/6."""
    c = corp([0.5, 0.8, 0.5, 0.5, 0.8, 0.5, 0.2], [1, 0, 1, 0, 1, 1, 0])
    assert c.scores.tolist() == [0.2, 0.5, 0.8] and c.count.tolist() == [1, 4, 2]
    assert c.fit == pytest.approx([0, 2 / 3, 2 / 3])


def test_split_of_the_brier_score_by_hand():
    """p = .2 .4 .6, y = 0 1 0: q = 0 1/2 1/2.

    Brier (.04 + .36 + .36) / 3, of q 1/6, of the mean 2/9.
    """
    c = corp([0.2, 0.4, 0.6], [0, 1, 0])
    assert c.mcb == pytest.approx(0.76 / 3 - 1 / 6)
    assert c.dsc == pytest.approx(2 / 9 - 1 / 6)
    assert c.unc == pytest.approx(2 / 9)
    assert c.brier == pytest.approx(0.76 / 3)


def test_order_of_rows_does_not_matter_and_scikit_learn_agrees():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(1)
    x = np.round(rng.random(400), 2)
    y = (rng.random(400) < x**2).astype(int)
    c, order = corp(x, y), rng.permutation(400)
    again = corp(x[order], y[order])
    assert c.fit == pytest.approx(again.fit, abs=1e-12) and c.mcb == pytest.approx(
        again.mcb, abs=1e-12
    )
    assert c.fit == pytest.approx(IsotonicRegression().fit(x, y).predict(c.scores), abs=1e-9)
    assert c.brier == pytest.approx(np.mean((x - y) ** 2), abs=1e-12)
    assert sum(c.bins["count"]) == 400 and c.bins["count"] @ c.bins["frequency"] == pytest.approx(
        y.sum()
    )


@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases(case):
    x, y = EDGE_CASES[case]
    c = corp(x, np.asarray(y, int))
    b = compute_band(c, resamples=20)
    assert min(c.mcb, c.dsc, c.unc) >= 0.0
    assert ((0.0 <= b.low) & (b.low <= b.high) & (b.high <= 1.0)).all()
    assert reliability_plot.figure([reliability.Panel("case", "p", "y", c, b)]) is not None


def test_consistency_band_holds_the_curve_of_calibrated_data_at_its_level():
    """At a score near 1/2, 90 % of 300 samples.

    The level holds exactly for continuous fits, so a binomial bound of 4 s.e.
    """
    rng, inside = np.random.default_rng(2), 0
    for rep in range(300):
        x = np.sort(rng.random(100))
        x[50] = 0.5
        c = corp(x, (rng.random(100) < x).astype(int))
        b = compute_band(
            c, resamples=39, seed=rep
        )  # 40 draws with the sample: 5 % and 95 % lie on order statistics
        i = np.searchsorted(b.scores, 0.5)
        inside += b.low[i] <= c.fit[np.searchsorted(c.scores, 0.5)] <= b.high[i]
    assert abs(inside / 300 - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 300)


def test_the_band_lies_around_the_diagonal_and_shows_over_confidence():
    rng = np.random.default_rng(3)
    x = rng.random(3000)
    c = corp(x, (rng.random(3000) < 0.25 + 0.5 * x).astype(int))
    band = compute_band(c)
    inner = (band.scores > 0.05) & (band.scores < 0.95)
    assert ((band.low <= band.scores) & (band.scores <= band.high))[inner].all()
    curve = c.fit[np.searchsorted(c.scores, band.scores)]
    assert (curve > band.high)[(band.scores > 0.05) & (band.scores < 0.15)].all()
    assert (curve < band.low)[(band.scores > 0.85) & (band.scores < 0.95)].all()


def test_the_same_data_give_the_same_band_and_many_rows_fewer_resamples():
    c = corp(*_binary(500))
    a, b = compute_band(c), compute_band(c)
    assert np.array_equal(a.low, b.low) and a.resamples == 200
    many = corp(np.tile([0.2, 0.8], 400_000), np.tile([0, 1], 400_000))
    assert compute_band(many, resamples=500).resamples == reliability.MIN_RESAMPLES


def _binary(n):
    p, y = sample(n, 2)
    return p[:, 1], y


def test_what_is_judged():
    p, y = sample(200, 3)
    (top,) = panels(p, y)
    assert top.curve.scores.min() >= 1 / 3 and top.score == "confidence in the top class"
    (item,) = panels(*_binary(200), classes=["no", "yes"])
    assert item.score == "predicted P(Y = yes)"
    two, labels = sample(200, 2)
    assert np.array_equal(panels(two, labels)[0].curve.fit, panels(two[:, 1], labels)[0].curve.fit)
    (confidence,) = panels(two.max(axis=1), labels == two.argmax(axis=1), notion="top_label")
    assert np.array_equal(
        confidence.curve.fit, panels(two, labels, notion="top_label")[0].curve.fit
    )
    assert "confidence" in confidence.score


def test_classes_worst_first_at_most_twenty_and_none_unmentioned():
    p, y = sample(300, 23)
    result = panels(p, y, "classes", classes=[f"c{j:02d}" for j in range(23)], resamples=20)
    mcb = [item.curve.mcb for item in result[1:]]
    assert (
        mcb == sorted(mcb, reverse=True)
        and [item.drawn for item in result] == [True] * 21 + [False] * 3
    )
    text = describe_panels(result)
    assert "3 of 23 classes" in text and all(
        item.title.removeprefix("class ") in text for item in result[21:]
    )
    rows = build_table(result)
    assert set(rows.loc[rows["part"] == "summary", "panel"]) == {
        "top label",
        *(f"class c{j:02d}" for j in range(23)),
    }
    assert rows.loc[rows["part"] == "bin"].groupby("panel")["count"].sum().eq(300).all()
    assert len(panels(*sample(50, 2), "classes")) == 1


def test_table_and_figure_of_one_file():
    p, y = sample(300, 3)
    rows = build_table(panels(p, y, resamples=20))
    band = rows[rows["part"] == "band"]
    assert (band["low"] <= band["high"]).all() and band["fit"].between(0, 1).all()
    summary = rows.iloc[0]
    assert summary["brier"] == pytest.approx(summary["mcb"] - summary["dsc"] + summary["unc"])
    figure = reliability_plot.figure(panels(p, y, "classes", resamples=20), 2, [5.0, 6.0])
    figure.draw_without_rendering()
    assert figure.get_size_inches().tolist() == [5.0, 6.0]
    assert sum(ax.get_visible() for ax in figure.axes) == 8  # four diagrams, four histograms


def test_bad_input():
    with pytest.raises(BadInputError, match="2 names"):
        panels(*sample(50, 3), classes=["a", "b"])


def test_the_caption_names_the_band():
    p, y = _binary(100)
    caption = describe_panels(panels(p, y, resamples=20))
    assert "90% consistency band" in caption and " 20 resamples" in caption
    assert " band" not in describe_panels(panels(p, y, resamples=0))
