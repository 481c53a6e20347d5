"""The progress line of a long computation."""

from harness.common import progress


def test_the_remaining_time_is_shown_while_something_is_left(capsys, monkeypatch):
    """The words are those of the caller. After the last unit there are none."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    shown = progress.Progress(10, unit="steps", left=lambda: "2 to 5 min left")
    shown.add(9, 0)
    shown.add(1, 2)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("9 of 10 steps") and first.endswith("elapsed, 2 to 5 min left")
    assert last.startswith("10 of 10 steps") and last.endswith("elapsed, 2 failed")
