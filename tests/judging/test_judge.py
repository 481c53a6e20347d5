"""`harness.judge`, `harness.ece`, and the predictions that they read."""

import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure

import harness
from harness.errors import BadInputError
from harness.judging.data import aligned, from_arrays, from_file
from harness.judging.verdict import advise, choose_verdict


def test_answers_arrive_in_order_and_fewer_questions_change_nothing():
    rng = np.random.default_rng(11)
    p = rng.uniform(size=(2, 80))
    y = (rng.random(80) < p[0]).astype(int)
    calls = []
    both = harness.judge(
        p[0],
        y,
        second=p[1],
        names=["a", "b"],
        questions=["how_far", "calibrated"],
        on_answer=lambda question, answer, data: calls.append((question, data.name)),
    )
    assert calls == [("calibrated", "a"), ("calibrated", "b"), ("how_far", "a"), ("how_far", "b")]
    answers = {}
    alone = harness.judge(
        p[0],
        y,
        questions=["how_far", "versus"],
        on_answer=lambda question, answer, data: answers.update({question: answer}),
    )
    assert answers["versus"] == alone.unanswered["versus"]
    assert alone.how_far == both.how_far and alone.calibrated is None
    assert both.others[0].data.name == "b"


def test_models_of_the_same_name_are_numbered():
    data = from_arrays([0.2, 0.7, 0.4], [0, 1, 0])
    judgement = harness.judging.judge.judge_data([data, data], questions=["versus"])
    assert [judgement.data.name, judgement.others[0].data.name] == [data.name, f"{data.name} (2)"]
    for row in judgement.versus.differences:
        assert row.better is None and row.difference.value in (0.0, None)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: harness.judge([0.2, 1.2], [0, 1]), "p holds 1.2 at row 1"),
        (lambda: harness.judge([0.2], [0], level=95), "level is 95"),
        (lambda: harness.judge([0.2], [0], questions=["why"]), "questions holds 'why'"),
        (lambda: harness.judge([0.2], [0], seed=-1), "seed is -1"),
        (lambda: harness.judge([0.2], ["no"]), "classes="),
        (lambda: harness.judge([0.2, 0.4], [0, 1], second=[0.3]), "rows"),
        (lambda: harness.judge([0.2], [0], names=["a", "b"]), "1 different names"),
        (lambda: from_arrays([0.2], [0], classes=["a"]), "classes has 1 names"),
        (lambda: from_arrays([0.2, 0.1], [0, 1], groups=[1]), "group 'group' has shape (1,)"),
        (lambda: from_arrays([0.2], ["maybe"], classes=["no", "yes"]), "'maybe' at row 0"),
        (lambda: from_file("nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_input_gets_one_sentence_that_names_it(call, text):
    with pytest.raises(BadInputError) as error:
        call()
    assert text in str(error.value) and "\n" not in str(error.value)


def test_a_second_model_is_aligned_by_the_names_of_its_classes():
    p, classes = np.array([[0.7, 0.2, 0.1], [0.4, 0.1, 0.5]]), ("a", "b", "c")
    first = from_arrays(p, ["a", "c"], classes=classes, name="first")
    turned = from_arrays(p[:, [2, 0, 1]], ["a", "c"], classes=["c", "a", "b"], name="second")
    same = aligned(first, turned)
    assert same.classes == classes
    assert np.array_equal(same.p, p) and np.array_equal(same.y, first.y)


@pytest.mark.parametrize(
    "other, text",
    [
        (([[0.7, 0.3]] * 2, ["a", "a"], ["a", "b"]), "first in row 1: 'b' and 'a'"),
        (([[0.7, 0.3]], ["a"], ["a", "b"]), "2 and 1 rows"),
        (([[0.7, 0.2, 0.1]] * 2, ["a", "b"], ["a", "b", "c"]), "2 and 3 classes"),
        (([[0.7, 0.3]] * 2, ["a", "d"], ["a", "d"]), "class 1, 'b' and 'd'"),
    ],
)
def test_a_second_model_of_other_rows_or_classes_is_refused(other, text):
    first = from_arrays([[0.7, 0.3], [0.4, 0.6]], ["a", "b"], classes=["a", "b"])
    p, y, classes = other
    with pytest.raises(BadInputError, match=text):
        aligned(first, from_arrays(p, y, classes=classes, name="second"))
    with pytest.raises(BadInputError, match="confidences"):
        aligned(first, from_arrays([0.7, 0.4], [1, 0], confidences=True))


def test_a_file_with_names_of_classes_and_groups(tmp_path):
    path = tmp_path / "model.csv"
    path.write_text("prob_cat,prob_dog,label,site\n0.7,0.3,cat,x\n0.2,0.8,dog,y\n0.6,0.4,dog,x\n")
    data = from_file(path, group="site")
    assert (data.name, data.classes, data.y.tolist()) == ("model", ("cat", "dog"), [0, 1, 1])
    assert data.groups["site"].tolist() == ["x", "y", "x"] and "3 rows" in data.understood
    with pytest.raises(BadInputError, match="'town'"):
        from_file(path, group="town")


def test_ece_is_the_plain_binned_error():
    p, y = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1]
    assert harness.ece(p, y, bins=2) == pytest.approx(abs(2.4 - 2.0) / 3)
    value = harness.ece([0.9, 0.8, 0.7], [1, 0, 1], notion="binary", bins=1)
    assert value == pytest.approx(0.4 / 3)


def test_a_judgement_in_a_notebook_shows_verdict_diagram_and_numbers():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 300)
    names = ["<b>", "x.y", "c"]
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    judgement = harness.judge(p, y, classes=names, questions=["calibrated", "where"])
    text = judgement._repr_html_()
    assert "No miscalibration was found" in text and "<svg" in text and "<b>" not in text
    assert ">top_label.p_value</th>" in text and "class.c.l1" not in text

    frame, numbers = judgement.to_frame(), judgement.to_json()["numbers"]
    for name in ("class.x.y.l1", "worst_class.l1"):
        ends = [numbers[f"{name}.{end}"]["value"] for end in ("value", "low", "high")]
        assert frame.loc[name, ["value", "low", "high"]].tolist() == ends
    assert frame.loc["canonical.p_value", "value"] == numbers["canonical.p_value"]["value"]
    assert list(frame.columns) == ["value", "low", "high", "level", "reason"]


def test_plot_draws_on_axes_and_leaves_the_style_of_the_session():
    import matplotlib

    before = dict(matplotlib.rcParams)
    judgement = harness.judge([0.1, 0.4, 0.9], [0, 1, 1], questions=["calibrated"])
    ax = judgement.plot()
    assert ax.get_ylabel() == "event frequency" and len(ax.figure.axes) == 2
    assert dict(matplotlib.rcParams) == before


def test_common_names_and_conventions_of_python():
    p, y = np.array([0.25, 0.5, 0.75, 0.75]), np.array([0, 0, 1, 1])
    mass = harness.ece(p, y, "binary", bins=2, binning="mass")
    assert mass == (2 * 0.375 + 2 * 0.25) / 4 and "mass" in repr(mass) and str(mass) == "0.3125"
    assert pickle.loads(pickle.dumps(mass)) == mass and type(mass + 0) is float
    with pytest.raises(BadInputError, match="binning is 'kmeans'"):
        harness.ece(p, y, binning="kmeans")
    estimate = harness.estimate("binned15", p, y, "binary")["l1"]
    assert f"{estimate:.3f}" == f"{estimate.value:.3f}" and float(estimate) == estimate.value
    with pytest.raises(BadInputError, match="did you mean 'binned15'"):
        harness.estimate("ece", p, y)
    judgement = harness.judge(p, y)
    assert repr(judgement) == choose_verdict(judgement)[0]


@pytest.mark.parametrize("k", [1, 3])
def test_a_reliability_diagram_in_given_axes(k):
    p, y = (np.array([0.1, 0.4, 0.8]), [0, 0, 1]) if k == 1 else (np.eye(3) * 0.7 + 0.1, [0, 1, 1])
    ax = Figure().subplots()
    assert harness.reliability_diagram(p, y, ax) is ax
    assert ax.get_xlabel() and ax.get_ylabel() and len(ax.lines) == 2
    assert len(harness.reliability_diagram(p, y).figure.axes) == 2  # with the histogram


def test_degenerate_files_are_not_contradicted():
    """Every sentence holds where all outcomes are equal, or all scores are 0 or 1."""
    wrong = harness.judge(np.zeros(50), np.zeros(50, int), confidences=True)
    text = " ".join(str(wrong).split())
    assert "came true" not in text and "error rate" not in text
    same = " ".join(str(harness.judge(np.full(200, 0.5), np.zeros(200, int))).split())
    assert "nothing can be said" not in same and "whether their probabilities are too high" in same
    assert "Recalibrate" not in same and "All outcomes are equal" in same
    never = harness.judge(np.zeros(60), np.ones(60, int))
    assert "60 were wrong" in advise(never).text
    hard = np.r_[np.ones(30), np.zeros(30)]
    text = " ".join(str(harness.judge(hard, np.r_[hard[:-1], 1.0].astype(int))).split())
    assert "For the rows with probabilities between 0 and 1" not in text
    assert "probability 0" in text


def test_a_share_next_to_all_is_not_all():
    p = np.r_[np.full(3, 0.5), np.tile([0.0, 1.0], 500)]
    text = " ".join(str(harness.judge(p, np.r_[0, 1, 0, np.tile([0, 1], 500)])).split())
    assert "More than 99 % of the scores are exactly 0 or 1" in text
