"""The questions in their order, each answered by its own part."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import BadInputError, UndefinedError
from harness.judging.data import aligned, from_arrays
from harness.judging.findings import Calibrated, Judged
from harness.judging.judgement import Judgement

OnAnswer = Callable[[str, Any, Judged], None]

# Question: module of harness.judging and function in it; (data, level, rng) -> finding.
PARTS = {
    "calibrated": ("calibrated", "tests"),
    "how_far": ("howfar", "errors"),
    "where": ("where", "where"),
    "gains": ("gain", "gains"),
    "versus": ("versus", "versus"),
}
QUESTIONS = tuple(PARTS)
OF_EVERY_FILE = ("calibrated", "how_far")
ALONE = "One file was given; a second one on the same rows is needed to compare models."


def judge(
    p: ArrayLike,
    y: ArrayLike,
    *,
    second: ArrayLike | Sequence[ArrayLike] | None = None,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    groups: Mapping[str, ArrayLike] | ArrayLike | None = None,
    confidences: bool = False,
    level: float = 0.95,
    seed: int = 0,
    questions: Sequence[str] | None = None,
    on_answer: OnAnswer | None = None,
) -> Judgement:
    """What can be said of the calibration of predictions, in sentences and numbers, at a stated level.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities of class 1, or of k classes with rows that sum to 1. Columns of a data frame that are named by class
        (cat, p_cat, prob_cat) are matched with the classes by name.
    y : array_like, (n,)
        Labels 0..k-1, or names of `classes`.
    second : array_like or list of arrays, optional
        Predictions of other models on the same rows, of the shape of p; each is judged, and all are compared.
    names : sequence of str, optional
        What the models are called, the first one's name first.
    classes : sequence, optional
        Names of the classes, in the order of the columns of an array. A label j is the j-th of them.
    groups : mapping of name to array_like (n,), or one array_like, optional
        What splits the rows.
    confidences : bool
        Whether p (n,) holds confidences of predictions and y says which were right: top-label alone is judged.
    level : float
        Of all statements: tests err with probability at most 1 - level, intervals are of this level.
    seed : int
        Of what is drawn; the same call gives the same numbers.
    questions : sequence of str, optional
        Of "calibrated", "how_far", "where", "gains", "versus"; all by default.
    on_answer : callable, optional
        Called as (question, answer, data) as soon as an answer is there; of a question that cannot be answered the answer is a
        str, the reason.

    Returns
    -------
    Judgement
        str() of it is the text for a terminal; `.to_html(path)` writes the page, `.to_json()` gives the values.

    Raises
    ------
    BadInputError
        If an argument cannot be used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=200)
    >>> y = (rng.uniform(size=200) < p**3).astype(int)
    >>> judge(p, y, questions=["calibrated"]).calibrated.rejected
    True
    """
    others = _others(p, second)
    called = _called(names, 1 + len(others))
    datas = [
        from_arrays(
            one,
            y,
            classes=classes,
            groups=groups if i == 0 else None,
            name=called[i],
            confidences=confidences,
        )
        for i, one in enumerate([p, *others])
    ]
    return judge_data(datas, level=level, seed=seed, questions=questions, on_answer=on_answer)


def judge_data(
    datas: Judged | Sequence[Judged],
    *,
    level: float = 0.95,
    seed: int = 0,
    questions: Sequence[str] | None = None,
    on_answer: OnAnswer | None = None,
) -> Judgement:
    """As `judge`, of `Judged` data, such as those of `from_file`: the first is judged, the others are compared with it.

    Raises
    ------
    BadInputError
        If level or questions cannot be used, or the data are not of the same rows and classes.

    Examples
    --------
    >>> data = from_arrays([0.2, 0.7, 0.4], [0, 1, 0])
    >>> judge_data(data, questions=["calibrated"]).data.n
    3
    """
    datas = [datas] if isinstance(datas, Judged) else list(datas)
    if not datas:
        raise BadInputError("datas is empty; predictions are needed.")
    if not (isinstance(level, (int, float)) and 0.5 <= level < 1.0):
        raise BadInputError(f"level is {level!r}; a number in [0.5, 1) is needed, such as 0.95.")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise BadInputError(f"seed is {seed!r}; an integer of at least 0 is needed.")
    asked = _asked(questions)
    first, *others = datas
    named = _own_names([first, *(aligned(first, other) for other in others)])
    answers: list[dict[str, Any]] = [{} for _ in named]
    reasons: list[dict[str, str]] = [{} for _ in named]
    seconds: list[dict[str, float]] = [{} for _ in named]
    for question in asked:
        judged = range(len(named)) if question in OF_EVERY_FILE else range(1)
        for i in judged:
            start = time.perf_counter()
            try:
                if question == "versus" and len(named) == 1:
                    raise UndefinedError(ALONE)
                subject = named if question == "versus" else named[i]
                answers[i][question] = _answer(
                    question, subject, float(level), seed, answers[i].get("calibrated")
                )
            except UndefinedError as error:
                reasons[i][question] = _sentence(str(error))
            seconds[i][question] = time.perf_counter() - start
            if on_answer is not None:
                on_answer(question, answers[i].get(question, reasons[i].get(question)), named[i])
    made = [
        Judgement(
            data=data,
            level=float(level),
            seed=seed,
            calibrated=answers[i].get("calibrated"),
            how_far=answers[i].get("how_far"),
            where=answers[i].get("where"),
            gains=answers[i].get("gains"),
            versus=answers[i].get("versus"),
            unanswered=reasons[i],
            seconds=seconds[i],
        )
        for i, data in enumerate(named)
    ]
    return replace(made[0], others=tuple(made[1:]))


def _answer(
    question: str,
    subject: Judged | list[Judged],
    level: float,
    seed: int,
    calibrated: Calibrated | None,
) -> Any:
    """Answer one question. Its random stream depends on the seed and the question alone.

    Asking fewer questions changes no number, with one exception: intervals of the error are extended to 0 where the test of
    the first question, if asked, does not reject.
    """
    module, function = PARTS[question]
    rng = np.random.default_rng([seed, QUESTIONS.index(question)])
    part = importlib.import_module(f"harness.judging.{module}")
    if question == "how_far":
        return part.errors(subject, level, rng, calibrated)
    return getattr(part, function)(subject, level, rng)


def _asked(questions: Sequence[str] | None) -> list[str]:
    if questions is None:
        return list(QUESTIONS)
    asked = [questions] if isinstance(questions, str) else list(questions)
    for one in asked:
        if one not in QUESTIONS:
            raise BadInputError(f"questions holds {one!r}; allowed are {', '.join(QUESTIONS)}.")
    return [question for question in QUESTIONS if question in asked]


def _others(p: ArrayLike, second: Any) -> list[Any]:
    """The other models' predictions: one array, or a list of arrays of the shape of p."""
    if second is None:
        return []
    if isinstance(second, (list, tuple)) and second and np.ndim(second[0]) == np.ndim(p) > 0:
        return list(second)
    return [second]


def _called(names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return ["predictions"] if count == 1 else [f"model {i + 1}" for i in range(count)]
    given = [names] if isinstance(names, str) else [str(one) for one in names]
    if len(given) != count or len(set(given)) != count:
        raise BadInputError(
            f"names are {', '.join(given)}; {count} different names are needed, one per model."
        )
    return given


def _own_names(datas: list[Judged]) -> list[Judged]:
    """Each with a name of its own: files of one name in two folders are told apart by a number."""
    seen: dict[str, int] = {}
    found = []
    for data in datas:
        seen[data.name] = seen.get(data.name, 0) + 1
        found.append(
            data if seen[data.name] == 1 else replace(data, name=f"{data.name} ({seen[data.name]})")
        )
    return found


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
