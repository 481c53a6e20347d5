"""A broken table of reported numbers is told in one sentence, whatever is broken."""

import pytest

from harness.errors import BadInputError
from harness.report import reproduction

HEAD = "item,row,column,value,unit,plus_minus,reps,precision\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("item,row,column\nfig1,a,b\n", "lacks the columns value, plus_minus, reps, precision, unit"),
        (HEAD + "fig1,a,b,many,1,0.1,10,0\n", "holds 'many' in the column value"),
        (HEAD + "fig1,a,b,0.1,1,0.1,ten,0\n", "holds 'ten' in the column reps"),
        (HEAD + "fig1,a,b,0.1,1,0.1,10,0\nfig1,a,b,0.2,1,0.1,10,0\n", "['fig1', 'a', 'b'] twice"),
        (HEAD + 'fig1,"a,b,0.1,1\n', "cannot be read"),
        (HEAD, "of which paper's reported numbers hold nothing"),
        (None, "is not there"),
    ],
)
def test_one_sentence(tmp_path, monkeypatch, text, says):
    monkeypatch.setattr(reproduction, "EXPERIMENTS", tmp_path)
    (tmp_path / "paper").mkdir()
    if text is not None:
        (tmp_path / "paper" / "reported.csv").write_text(text)
    with pytest.raises(BadInputError) as error:
        reproduction.reported("paper", ["fig1"])
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_sound_table_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "EXPERIMENTS", tmp_path)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "reported.csv").write_text(HEAD + "fig1,a,b,0.1,1,,10,0\nfig2,a,b,0.3,1,,10,0\n")
    assert reproduction.reported("paper", ["fig1"])["value"].tolist() == [0.1]
