"""Forms of the arguments of `harness.judge`: tensors, frames, classifiers and two samples."""

import numpy as np
import pandas as pd
import pytest
from samples import vectors
from sklearn.linear_model import LogisticRegression

import harness
from harness import BadInputError
from harness.calibrators import BBQ, Isotonic, Temperature
from harness.judging.data import from_arrays

ASKED = {"questions": ["calibrated"]}


class Tensor:
    """A stand-in for a tensor of torch that requires a gradient and lies on a GPU."""

    def __init__(self, values, detached=False, on_cpu=False):
        self.values, self.detached, self.on_cpu = np.asarray(values), detached, on_cpu
        self.ndim, self.shape, self.dtype = self.values.ndim, self.values.shape, "torch.float64"

    def detach(self):
        return Tensor(self.values, True, self.on_cpu)

    def cpu(self):
        return Tensor(self.values, self.detached, True)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        if not (self.detached and self.on_cpu):
            raise RuntimeError("call detach() and cpu()")
        return np.asarray(self.values, dtype)


class Exported:
    """An array that has DLPack's interface alone."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __len__(self):
        return len(self.values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("form", [Tensor, Exported])
def test_tensors_are_judged_as_arrays(form):
    p, y = vectors(80, 3)
    data = from_arrays(form(p), form(y), groups={"half": form(np.arange(80) % 2)})
    assert np.array_equal(data.p, p) and np.array_equal(data.y, y)
    assert harness.ece(form(p), form(y)) == harness.ece(p, y)


def test_several_tensors_are_several_models():
    p, y = vectors(80, 3)
    judgement = harness.judge(Tensor(p), Tensor(y), second=[Tensor(p), Tensor(p)], **ASKED)
    assert [other.data.name for other in judgement.others] == ["model 2", "model 3"]


@pytest.mark.parametrize("dtype", ["str", "category", "string", "object"])
def test_a_frame_and_labels_as_texts(dtype):
    p, y = vectors(80, 3)
    frame = pd.DataFrame(p, columns=["p_a", "p_b", "p_c"], index=np.arange(80) + 7)
    labels = pd.Series(np.array(["a", "b", "c"])[y]).astype(dtype)
    data = from_arrays(frame[["p_b", "p_c", "p_a"]], labels)
    assert data.classes == ("b", "c", "a")
    assert np.array_equal(data.p, p[:, [1, 2, 0]]) and np.array_equal(data.y, (y + 2) % 3)


def test_numbers_with_missing_values_of_pandas():
    p, y = vectors(80, 3)
    frame, labels = pd.DataFrame(p).astype("Float64"), pd.Series(y).astype("Int64")
    assert np.array_equal(from_arrays(frame, labels).p, p)
    labels[3] = pd.NA
    with pytest.raises(BadInputError, match="row 3"):
        from_arrays(frame, labels)


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [1, 2], [False, True]])
def test_a_fitted_classifier(labels):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = np.array(labels)[(x[:, 0] + rng.normal(size=300) > 0.0).astype(int)]
    classifier = LogisticRegression().fit(x[:100], y[:100])
    judgement = harness.judge(classifier, x[100:], y[100:], **ASKED)
    data = judgement.data
    assert data.name == "LogisticRegression" and data.classes == tuple(map(str, labels))
    assert np.array_equal(data.p, classifier.predict_proba(x[100:]))
    assert np.array_equal(data.y, y[100:] == labels[1])
    alone = y == labels[1]  # rows of the second class only
    assert harness.judge(classifier, x[alone], y[alone], **ASKED).data.y.tolist() == [1] * sum(
        alone
    )
    with pytest.raises(BadInputError, match="'?other'? at row 1"):
        harness.judge(classifier, x[:2], np.array([labels[0], "other"], dtype=object))


def test_fitted_on_one_sample_and_judged_on_another():
    p, y = harness.load_problem("beta_overconfident").sample(3000, np.random.default_rng(0))
    calibrators = [Temperature(), harness.SklearnCalibrator(BBQ()), Isotonic()]
    judgement = harness.judge(
        p[:1000], y[:1000], p[1000:], y[1000:], calibrators=calibrators, **ASKED
    )
    assert np.array_equal(judgement.data.p[:, 1], p[1000:])
    assert [other.data.name for other in judgement.others] == ["Temperature", "BBQ", "Isotonic"]
    for other, calibrator in zip(judgement.others, (Temperature(), BBQ(), Isotonic())):
        q = calibrator.fit(p[:1000], y[:1000])(p[1000:])
        assert np.array_equal(other.data.p[:, 1], q)
    p_values = judgement.to_frame()["value"].filter(like="binary.p_value")
    assert p_values.iloc[0] < 0.001 < p_values["BBQ:binary.p_value"]


def test_a_classifier_with_two_samples():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = np.where(x[:, 0] + rng.normal(size=300) > 0.0, "yes", "no")
    classifier = LogisticRegression().fit(x[:100], y[:100])
    judgement = harness.judge(classifier, x[100:200], y[100:200], x[200:], y[200:], **ASKED)
    p = classifier.predict_proba(x)[:, 1]
    q = Temperature().fit(p[100:200], (y[100:200] == "yes").astype(int))(p[200:])
    assert judgement.others[0].data.p[:, 1] == pytest.approx(q)


def test_columns_of_the_two_samples_are_matched_by_name():
    p, y = vectors(200, 3)
    labels = np.array(["a", "b", "c"])[y]
    frame = pd.DataFrame(p, columns=list("abc"))
    turned = frame[["c", "a", "b"]]
    judgement = harness.judge(turned[:100], labels[:100], frame[100:], labels[100:], **ASKED)
    q = Temperature().fit(p[:100], y[:100])(p[100:])
    assert judgement.others[0].data.p == pytest.approx(q)


P, Y = [0.2, 0.7, 0.4], [0, 1, 0]


@pytest.mark.parametrize(
    "arguments, options, text",
    [
        ((P, Y, P), {}, "a second model is given as second="),
        ((P, Y, P, Y), {"second": P}, "second= cannot be given with two samples"),
        ((P, Y), {"calibrators": [BBQ()]}, "calibrators= needs rows to fit on"),
        ((LogisticRegression(), P, Y), {}, "fit it before"),
        ((P, Y, [[0.2, 0.3, 0.5]], [1]), {}, "3 and 2 classes"),
    ],
)
def test_forms_that_mean_nothing_are_refused(arguments, options, text):
    with pytest.raises(BadInputError, match=text):
        harness.judge(*arguments, **options)
