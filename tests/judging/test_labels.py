"""Multi-label predictions: each label is a binary problem, with one level for all of them."""

import numpy as np
import pandas as pd
import pytest

import harness
from harness import BadInputError
from harness.judging.gaps import holm, measure_gap

K = 6


def sample(rng, n=300, error=0.0):
    """Return p and y of labels that share a common cause. `error` lowers P(label 0)."""
    p = rng.beta(1.0, 2.0, (n, K))
    normal = np.sqrt(0.7) * rng.standard_normal((n, 1)) + np.sqrt(0.3) * rng.standard_normal((n, K))
    c = p.copy()
    c[:, 0] = np.clip(p[:, 0] - error, 0.0, 1.0)
    order = np.argsort(np.argsort(normal, axis=0), axis=0)  # uniform, and dependent within rows
    return p, ((order + rng.random((n, K))) / n < c).astype(int)


def independent_rows(rng, n=300):
    """Return calibrated p, and y (n, K) whose labels depend on one another within rows."""
    p = rng.beta(1.0, 2.0, (n, K))
    shared = rng.random((n, 1))
    is_shared = rng.random((n, K)) < 0.7
    return p, (np.where(is_shared, shared, rng.random((n, K))) < p).astype(int)


def test_each_label_is_the_binary_problem_of_its_column():
    p, y = sample(np.random.default_rng(0), error=0.15)
    judgement = harness.judge(p, y, classes=list("abcdef"))
    gaps = [measure_gap(p[:, j], y[:, j], 0.95) for j in range(K)]
    adjusted = holm([gap.p_value for gap in gaps])
    frame = judgement.to_frame().loc[list("abcdef")]
    assert frame["p_value"].tolist() == adjusted
    assert frame["mean_p"].tolist() == [gap.mean_score for gap in gaps]
    assert judgement.labels[0].name == "a" and frame.loc["a", "verdict"] == "not calibrated"
    assert frame.loc["a", "low"] > 0.0


def test_the_level_holds_for_all_labels_together():
    """Bound: 3 standard errors of the share of 120 draws."""
    rng = np.random.default_rng(1)
    draws = 120
    alarms = sum(
        harness.judge(*independent_rows(rng, 150)).labels[0].stands_out for _ in range(draws)
    )
    assert alarms / draws <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / draws)


def test_data_frames_are_matched_by_name():
    p, y = sample(np.random.default_rng(2), error=0.2)
    p, y = pd.DataFrame(p, columns=list("abcdef")), pd.DataFrame(y, columns=list("abcdef"))
    matched = harness.judge(p, y[list("fedcba")]).to_frame()
    pd.testing.assert_frame_equal(matched, harness.judge(p, y).to_frame())
    with pytest.raises(BadInputError, match="give the labels the same names"):
        harness.judge(p, y.rename(columns={"a": "z"}))


def test_the_page_has_every_label_and_no_markup_from_names(tmp_path):
    p, y = sample(np.random.default_rng(3), 120)
    names = ["<script>x</script>", "b", "c", "d", "e", "f"]
    page = harness.judge(p, y, classes=names).to_html(tmp_path / "labels.html")
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert all(f"<bdi>{name}</bdi>" in page for name in names[1:])
    assert (tmp_path / "labels.html").read_text() == page
    harness.judge(p, y).to_html(tmp_path / "labels.html")  # its own file may be replaced


P = np.array([[0.9, 0.2], [0.4, 0.7]])
SEVERAL = np.array([[1, 1], [0, 1]])


@pytest.mark.parametrize(
    ("p", "y", "options", "says"),
    [
        (P, SEVERAL[:1], {}, r"y has shape \(1, 2\) and p has shape \(2, 2\)"),
        (P, SEVERAL * 2, {}, "y holds 2 at row 0, column 0"),
        (P + 1.0, SEVERAL, {}, "p holds"),
        ([[0.5, 0.5], [0.2, 0.8]], np.eye(2), {}, "pass y.argmax"),
        ([[0.5, 0.5], [0.2, 0.8]], [[0, 1], [0, 0]], {}, r"of no label \(1 row\)"),
        (P, SEVERAL, {"classes": ["a"]}, "classes has 1 names"),
        (P, SEVERAL, {"group_rows": [1, 2]}, "judged without group_rows"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(p, y, options, says):
    with pytest.raises(BadInputError, match=says) as error:
        harness.judge(p, y, **options)
    assert "\n" not in str(error.value)


def test_other_functions_say_what_to_call():
    for call in (harness.ece, lambda p, y: harness.estimate("kde", p, y)):
        with pytest.raises(
            BadInputError, match=r"harness.judge\(p, y\), and one label by p\[:, j\]"
        ):
            call([[0.5, 0.5], [0.2, 0.8]], SEVERAL)
