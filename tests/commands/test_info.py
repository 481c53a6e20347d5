"""`calharness info` and words that lead to another command."""

import pytest


@pytest.mark.parametrize("name", ["Wavy", "LogitAffine", "Steps"])
def test_maps_are_described(cli, name):
    code, text, _ = cli("info", name)
    assert code == 0 and text.startswith(f"map {name}") and "problem.ID.map" in text


@pytest.mark.parametrize(
    ("words", "command"),
    [(("problem=beta_wavy", "--dry-run"), "calharness plan"), (("sweep", "x"), "sweep.")],
)
def test_words_of_other_programs_lead_to_ours(cli, words, command):
    code, _, error = cli(*words)
    assert code == 2 and command in error
