"""Every option that a message suggests is given to `calharness judge`, and reads the right numbers.

A suggestion with a condition ("... if labels count from 0") has the reading of this condition.
"""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from harness import BadInputError
from harness.commands.judge_arguments import READER, files_and_reader
from harness.judging.data import from_file

P3 = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.5, 0.3, 0.2]])
P1 = np.array([0.2, 0.9, 0.4, 0.7])
LOGITS = np.log(P3) + 1.0
Y = np.array([0, 1, 2, 0])
Y1 = np.array([0, 1, 0, 1])
SUGGESTION = re.compile(
    rf"'(?:{'|'.join(READER)})=[^']*'|\"(?:{'|'.join(READER)})=[^\"]*\""
    rf"|\b(?:{'|'.join(READER)})=(?:\[[^\]]*\]|[^\s,;]+)"
)


def frame(columns, p, **more):
    return pd.DataFrame(p, columns=columns).assign(**more)


def names(*texts):
    return np.array(texts, dtype=object)


def suggestions(message):
    """The options in a message that can be pasted."""
    found = [text.rstrip(".:)") for text in SUGGESTION.findall(message)]
    return [text for text in found if "NAME" not in text and "..." not in text]


def label_probabilities(path, options):
    """For each row: the label's name, and the probability that the file gives to it."""
    _, reader = files_and_reader([str(path), *(shlex.split(text)[0] for text in options)])
    data = from_file(path, **reader)
    return [round(float(q), 9) for q in data.p[np.arange(data.n), data.y]]


OF_LABEL = [0.7, 0.8, 0.5, 0.5]  # the probability of each row's label
BINARY = np.column_stack([1 - P1, P1])
OF_LABEL_1 = np.where(Y1 == 1, P1, 1 - P1).tolist()
COUNTED = np.array([1, 1, 2, 1])  # labels 1 and 2 of columns 1..3: from 0 or from 1?
GRADES = names("<=50K", "a, b", "ol\u00e9")

# Arrays or columns of a file, and {suggested option: the probability of each row's label}
CASES = {
    "one column, truth values": (
        dict(p=P1, y=names("no", "yes")[Y1]),
        {"positive=yes": OF_LABEL_1},
    ),
    "one column, numbers": (dict(p=P1, y=Y1 + 1), {"positive=2": OF_LABEL_1}),
    "one column, two names": (
        dict(p=P1, y=names("ham", "old spam")[Y1]),
        {
            "positive=ham": [1 - q for q in OF_LABEL_1],
            "'positive=old spam'": OF_LABEL_1,
        },
    ),
    "one column of label 0": (
        dict(p_False=1 - P1, y=Y1, _options=["probabilities=p_False"]),
        {"positive=0": OF_LABEL_1},
    ),
    "a single column of the first class": (
        dict(
            p_dog=P1,
            y=names("cat", "dog")[Y1],
            _options=["probabilities=p_dog", "class_names=[dog,cat]"],
        ),
        {"class_names=[cat,dog]": OF_LABEL_1},
    ),
    "numbers from 1, or from 0": (
        frame(["p_3", "p_1", "p_2"], P3[:, [2, 0, 1]], y=COUNTED),
        {
            "class_names=[1,2,3]": P3[np.arange(4), COUNTED - 1].tolist(),
            "class_names=[0,1,2]": P3[np.arange(4), COUNTED].tolist(),
        },
    ),
    "columns from 1, labels from 0": (
        frame(["p_3", "p_1", "p_2"], P3[:, [2, 0, 1]], y=Y),
        {"class_names=[0,1,2]": OF_LABEL},
    ),
    "numbers for names": (
        frame(["p_cow", "p_cat", "p_dog"], P3, y=Y),
        {"class_names=[cow,cat,dog]": OF_LABEL},
    ),
    "names with marks": (
        dict(probs=P3, y=GRADES[Y]),
        {"\"class_names=['<=50K','a, b','ol\u00e9']\"": OF_LABEL},
    ),
    "names for numbers, twelve classes": (
        dict(probs=np.full((12, 12), 1 / 12), y=names(*"abcdefghijkl")),
        {f"class_names=[{','.join('abcdefghijkl')}]": [1 / 12] * 12},
    ),
    "wrong order of truth values": (
        dict(p_True=P1, p_False=1 - P1, y=Y1, _options=["class_names=[True,False]"]),
        {"class_names=[False,True]": OF_LABEL_1},
    ),
    "two names of labels": (
        dict(probs=P3, y=Y, label=2 - Y),
        {"labels=y": OF_LABEL, "labels=label": P3[np.arange(4), 2 - Y].tolist()},
    ),
    "probabilities and logits": (
        dict(probs=P3, logits=LOGITS[:, ::-1], y=Y),
        {"probabilities=probs": OF_LABEL, "logits=logits": P3[np.arange(4), 2 - Y].tolist()},
    ),
    "two kinds of probabilities": (
        {"prob": P1, "prob_0": 1 - P1, "prob_1": P1, "y": Y1},
        {"probabilities=prob": OF_LABEL_1, "probabilities=prob_": OF_LABEL_1},
    ),
    "bare columns of logits": (
        frame(["2", "0", "1"], LOGITS[:, [2, 0, 1]], y=Y),
        {"logits=[0,1,2]": OF_LABEL},
    ),
    "probabilities called logits": (dict(logits=P3, y=Y), {"probabilities=logits": OF_LABEL}),
    "rounded": (
        dict(probs=np.round(P3, 3) * 0.999, y=Y),
        {"renormalise=true": OF_LABEL},
    ),
    "confidences": (
        dict(confidence=P1, pred_label=Y1, true_label=np.zeros(4, dtype=int)),
        {"top_label=true": [1 - q for q in OF_LABEL_1]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_suggested_option_reads_the_right_numbers(tmp_path, case):
    content, right = CASES[case]
    options = [] if isinstance(content, pd.DataFrame) else content.get("_options", [])
    if isinstance(content, pd.DataFrame) or any(
        np.asarray(values).dtype.kind == "O" for values in content.values()
    ):
        path = tmp_path / "preds.parquet"
        columns = {k: v.tolist() for k, v in content.items() if k != "_options"}
        pd.DataFrame(columns).to_parquet(path)
    else:
        path = tmp_path / "preds.npz"
        np.savez(path, **{k: v for k, v in content.items() if k != "_options"})
    with pytest.raises(BadInputError) as caught:
        label_probabilities(path, options)
    message = str(caught.value)
    assert set(suggestions(message)) == set(right), message
    for suggestion, expected in right.items():
        given = [text for text in options if text.split("=")[0] not in suggestion]
        read = label_probabilities(path, [*given, suggestion])
        assert read == pytest.approx(expected, abs=1e-6)
