"""Mistakes in the YAML file of an experiment are one sentence, and its texts stay as written."""

import time

import pytest

from harness import BadInputError
from harness.configure.compose import compose

HEAD = """# @package _global_
defaults:
  - override /problem: [beta_wavy]
  - override /estimator: [binned15]
n: 20
"""
LEVELS = [f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi")]
WRONG = {
    "an open list": ("title: [\n", "line 7, column 1"),
    "a tab": ("title:\n\tx: 1\n", "line 7, column 1"),
    "a key twice": ("title: a\ntitle: b\n", "line 7, column 1"),
    "nesting": (f"sweep: {'[' * 5000}\n", "line 6, column"),
    "aliases of aliases": ("\n".join(["a: &a [1]", *LEVELS]), "column"),
    "no UTF-8": ("title: \udce4\n", "not in UTF-8"),
}


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "experiment").mkdir()
        (tmp_path / "experiment" / "mine.yaml").write_text(HEAD + text, errors="surrogateescape")
        return [f"config_dir='{tmp_path}'", "experiment=mine"]

    return write


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_sentence_with_file_line_and_column(write, name):
    text, place = WRONG[name]
    overrides = write(text)
    compose(["problem=beta_wavy"])  # loads what a composition needs
    began = time.process_time()
    with pytest.raises(BadInputError) as error:
        compose(overrides)
    assert time.process_time() - began < 1.0
    message = str(error.value)
    assert "mine.yaml" in message and place in message and "\n" not in message
    assert len(message) < 500


def test_the_environment_is_not_resolved_in_texts(write, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET", "a secret")
    reference = "${oc.env:SECRET}"
    settings = compose(
        write(
            f"title: '{reference}'\nlabels: {{estimator: {{binned15: '{reference}'}}}}\n"
            f"figure: {{caption: 'see ${{title}}'}}\nout: '{tmp_path}/{reference}'\n"
        )
    )
    assert settings.title == reference and settings.labels.estimator["binned15"] == reference
    assert settings.figure.caption == "see ${title}"
    assert settings.out == f"{tmp_path}/a secret"
