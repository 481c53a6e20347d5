"""What goes wrong outside of the harness: answers that are no numbers, damaged stores, full disks, folders that cannot be."""

from fractions import Fraction

import numpy as np
import pytest

import harness
from harness import Estimate
from harness.estimators.base import WrongAnswerError, apply
from harness.runs import records

P, Y = np.array([0.2, 0.8]), np.array([0, 1])
NO_NUMBERS = {
    "complex": 1 + 0j, "numpy's complex": np.complex128(1 + 2j), "an array of one": np.array(1 + 2j), "text": "0.5",
    "numpy's text": np.str_("0.5"), "text in an array": np.array("0.5"), "text as an object": np.array("0.5", dtype=object),
    "bytes": b"0.5", "a truth value": True, "one in an array": np.array(True), "raw bytes": np.void(b"123"),
    "a time": np.timedelta64(5, "s"), "too large": 10**400, "a list": [0.5], "nothing": None, "a table": {"l1": {"l1": 0.5}},
}  # fmt: skip


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_is_a_failure_of_the_estimator(name):
    """As the value, as a bound and among the diagnostics; nothing is made a number of that is none."""
    value = NO_NUMBERS[name]
    answers = [{"l1": value}, Estimate(value)] + ([] if value is None else [Estimate(0.5, low=value, kind="lower")])
    for answer in [*answers, *([] if isinstance(value, (bool, np.ndarray)) else [Estimate(0.5, diagnostics={"a": value})])]:
        with pytest.raises(WrongAnswerError, match="must be numbers"):
            apply(lambda p, y, answer=answer: answer, P, Y, "binary", None)


def test_other_kinds_of_numbers_are_numbers():
    for value in (0.5, np.float16(0.5), np.array(0.5), Fraction(1, 2), np.array(0.5, dtype=object), np.longdouble(0.5)):
        assert apply(lambda p, y, value=value: value, P, Y, "binary", None)["l1"].value == 0.5


def test_a_cell_whose_estimator_gives_no_number_failed_and_says_so(out, module):
    module(
        "no_numbers", "import numpy as np\ndef imaginary(p, y):\n    return np.complex128(0.1 + 0.2j) if len(p) > 16 else 0.1\n"
    )
    frame = harness.run(
        ["problem=beta_wavy", "estimator=[]", "n=20", "reps=2", "jobs=1", "+estimator.i._target_=no_numbers.imaginary"]
    )
    assert frame["status"].tolist() == ["failed"] * 2 and frame["value"].isna().all()
    assert frame["reason"].str.contains(r"l1 is .*0\.1\+0\.2j.*must be numbers").all()
    assert records.cell_states(out).keys() == set(frame["key"])
