"""Every layout of a file that is read without options, as the program that writes it does.

Published logits and TabRepo have tests of their own: test_logits.py, test_tabrepo.py.
"""

import gzip
import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.sources import files

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.5, 0.3, 0.2]])
Y = np.array([0, 1, 2, 0])
P1, Y1 = np.array([0.1, 0.6, 0.9, 0.0]), np.array([0, 1, 1, 0])
PAIR = np.column_stack([1 - P1, P1])
ANIMALS = np.array(["cat", "cow", "dog"])  # sorted, as classes_ is
YES = np.array(["no", "yes"])[Y1]
FRAME = pd.DataFrame({"p": P1, "y": Y1})


@pytest.fixture
def reads(tmp_path):
    """Write a file, and check what is read: (text, bytes, a table, or arrays), p, y, words."""

    def check(content, p, y, words="", name=None, **options):
        ending = {str: ".csv", bytes: ".csv", pa.Table: ".parquet", dict: ".npz"}[type(content)]
        path = tmp_path / (name or f"preds{ending}")
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        elif isinstance(content, dict):
            np.savez(path, **content)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        got_p, got_y, line, *_ = files.read(path, **options)
        np.testing.assert_allclose(got_p, p, rtol=1e-15)
        np.testing.assert_array_equal(got_y, y)
        assert words in line

    return check


# Python


def test_scikit_learn_predict_proba_of_class_1(reads):
    frame = pd.DataFrame({"y_true": Y1, "y_score": P1})
    reads(frame.to_csv(index=False), P1, Y1, "probability column y_score; label column y_true")


def test_scikit_learn_predict_proba_of_named_classes(reads):
    reads(dict(proba=P, y=ANIMALS[Y], classes_=ANIMALS), P, Y, "classes named by classes_")
    frame = pd.DataFrame({"y_prob": P1, "y_true": YES})
    reads(frame.to_csv(index=False), P1, Y1, "1 = yes, 0 = no", positive="yes")


def test_pandas_frame_of_predict_proba(reads):
    frame = pd.DataFrame(P).assign(label=Y)
    reads(frame.to_csv(), P, Y, "columns 0, 1, 2; label column label; not used: Unnamed: 0")
    turned = frame[[2, "label", 0, 1]].rename(columns=str)
    reads(turned.to_csv(index=False), P, Y, "columns 0, 1, 2")
    reads(pa.Table.from_pandas(turned), P, Y, "columns 0, 1, 2")


@pytest.mark.parametrize("prefix", ["prob_", "p", "proba_class_", "class_"])
def test_pandas_add_prefix(reads, prefix):
    frame = pd.DataFrame(P).add_prefix(prefix).assign(y=Y)
    reads(frame[frame.columns[[3, 2, 0, 1]]].to_csv(index=False), P, Y, f"{prefix}0, {prefix}1")


def test_pandas_booleans(reads):
    frame = FRAME.assign(y=Y1 == 1)
    reads(frame.to_csv(index=False), P1, Y1, "booleans")
    pair = pd.DataFrame(PAIR[:, ::-1], columns=["p_True", "p_False"]).assign(y=Y1 == 1)
    reads(pair.to_csv(index=False), PAIR, Y1, "columns p_False, p_True")


def test_pandas_text_for_numbers_and_for_missing_classes(reads):
    reads(dict(probs=P, y=Y.astype(str)), P, Y, "3 classes")
    names = np.array(["None", "NA"])
    frame = pd.DataFrame(PAIR, columns=["p_None", "p_NA"]).assign(y=names[Y1])
    reads(frame.to_csv(index=False), PAIR, Y1, "classes: None, NA")


def test_pandas_tabs_gzip_and_categories(reads):
    reads(FRAME.to_csv(index=False, sep="\t"), P1, Y1, "tabs between columns", name="a.tsv")
    reads(gzip.compress(FRAME.to_csv(index=False).encode()), P1, Y1, name="a.csv.gz")
    reads(pa.Table.from_pandas(FRAME.astype({"y": "category"})), P1, Y1)


@pytest.mark.parametrize("labels", [ANIMALS[Y], np.array(["grade 1", "grade 2", "grade 3"])[Y]])
def test_autogluon_predict_proba(reads, labels):
    """A column per class, with the name of the class."""
    frame = pd.DataFrame(P, columns=np.unique(labels)).assign(target=labels, age=range(4))
    reads(frame.to_csv(index=False), P, Y, "not used: age")


def test_h2o_predict(reads):
    frame = pd.DataFrame({"predict": [0, 1, 1, 0], "p0": 1 - P1, "p1": P1, "label": Y1})
    reads(frame.to_csv(index=False), PAIR, Y1, "not used: predict")


def test_huggingface_datasets_to_parquet(reads):
    table = pa.table({"text": ["a"] * 4, "probs": P.tolist(), "label": Y})
    reads(table, P, Y, "probability array probs of shape 4 x 3; label column label")


def test_pytorch_logits_and_half_precision(reads):
    logits = np.log(P)
    reads(dict(logits=logits, labels=Y[:, None]), np.exp(logits), Y, "softmax applied")
    half = P.astype(np.float16)
    exact = half / half.sum(axis=1, dtype=np.float64)[:, None]
    reads(dict(probs=half, targets=Y), exact, Y, "divided by their sums")


def test_torchmetrics_target(reads):
    reads(dict(probs=P.astype(np.float32), target=Y), P.astype(np.float32).astype(float), Y)


def test_torchvision_image_folder(reads):
    """Classes are names of folders, in which macOS decomposes letters."""
    reads(dict(probs=P, y=Y, class_names=ANIMALS), P, Y, "classes named by class_names")
    names = [unicodedata.normalize("NFD", name) for name in ("\u00f6l", "\u00fcber")]
    frame = pd.DataFrame(PAIR, columns=["p_\u00f6l", "p_\u00fcber"]).assign(y=np.array(names)[Y1])
    reads(frame.to_csv(index=False), PAIR, Y1, "classes: \u00f6l, \u00fcber")
    numbered = {"p_000": 1 - P1, "p_001": P1, "y": np.array(["000", "001"])[Y1]}
    reads(numbered, PAIR, Y1, "p_000, p_001")


def test_keras_sigmoid_layer(reads):
    reads(dict(p=P1[:, None], y=Y1[:, None]), P1, Y1)


def test_numpy_savetxt(reads, tmp_path):
    path = tmp_path / "text.csv"
    np.savetxt(path, FRAME, "%.17g", delimiter=", ", header="p, y", comments="")
    reads(path.read_text(), P1, Y1, "probability column p;")


def test_netcal_confidences(reads):
    content = dict(confidence=P1, pred_label=Y1, true_label=np.ones(4, dtype=int))
    words = "label columns pred_label, true_label (1 where they agree)"
    reads(content, P1, Y1, words, top_label=True)
    texts = pd.DataFrame(content | {"pred_label": YES, "true_label": ["yes"] * 4})
    reads(texts.to_csv(index=False), P1, Y1, words, top_label=True)


# Excel and R


def test_excel_csv(reads):
    reads("\ufeffP;Y_True\r\n0,1;0\r\n0,6;1\r\n".encode(), P1[:2], Y1[:2], "decimal commas")


def test_r_write_csv(reads):
    rows = '"","p","y"\n"1",0.1,FALSE\n"2",0.6,TRUE\n'
    reads(rows, P1[:2], Y1[:2], "(booleans); not used: Unnamed: 0")


def test_r_write_csv2(reads):
    reads('"p";"y"\n0,1;0\n0,6;1\n', P1[:2], Y1[:2], "semicolons between columns, decimal commas")


def test_r_write_table_with_tabs(reads):
    reads('"p"\t"y"\n0.1\t0\n0.6\t1\n', P1[:2], Y1[:2], "tabs between columns")


def test_r_predict_of_type_prob(reads):
    """A column per level, with labels as levels or as 0 and 1."""
    reads('"no","yes","y"\n0.9,0.1,"no"\n0.4,0.6,"yes"\n', PAIR[:2], Y1[:2], "no, yes")
    reads('"no","yes","y"\n0.9,0.1,0\n0.4,0.6,1\n', PAIR[:2], Y1[:2], "no, yes")
    reads('"p_yes","p_no","y"\n0.1,0.9,FALSE\n0.6,0.4,TRUE\n', PAIR[:2], Y1[:2], "p_no, p_yes")


def test_r_round(reads):
    rows = "p1,p2,p3,y\n0.33,0.33,0.33,1\n0.5,0.25,0.25,2\n"
    p = [[1 / 3] * 3, [0.5, 0.25, 0.25]]
    words = "rows summed to 0.99 to 1 and were divided by their sums"
    reads(rows, p, [0, 1], words, renormalise=True, class_names=["1", "2", "3"])


def test_r_factor_codes(reads):
    rows = "p1,p2,p3,y\n0.7,0.2,0.1,1\n0.1,0.8,0.1,2\n0.25,0.25,0.5,3\n"
    reads(rows, P[:3], Y[:3], "classes: 1, 2, 3")


def test_mlr3_prediction(reads):
    rows = "row_ids,truth,response,prob.cat,prob.dog\n1,cat,cat,0.9,0.1\n2,dog,dog,0.4,0.6\n"
    reads(rows, PAIR[:2], Y1[:2], "not used: row_ids, response", labels="truth")
