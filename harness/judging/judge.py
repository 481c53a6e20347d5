"""Judge predictions: answer the five questions on their calibration in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.common.threads import one_thread
from harness.errors import BadInputError, UndefinedError
from harness.judging.answers import QUESTIONS
from harness.judging.arguments import read_models
from harness.judging.calibrated import tests
from harness.judging.clusters import one_row_each
from harness.judging.data import aligned
from harness.judging.findings import Gains
from harness.judging.gain import gains
from harness.judging.howfar import errors
from harness.judging.judged import Judged
from harness.judging.judgement import Judgement
from harness.judging.labels import has_several_labels, judge_labels
from harness.judging.versus import versus
from harness.judging.weights import repeated
from harness.judging.where import where
from harness.judging.words import as_sentence

OnAnswer = Callable[[str, Any, Judged], None]
FOR_EVERY_MODEL = ("calibrated", "how_far")


def judge(
    p: ArrayLike,
    y: ArrayLike,
    *more: Any,
    second: ArrayLike | Sequence[ArrayLike] | None = None,
    calibrators: Any = None,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    groups: Mapping[str, ArrayLike] | ArrayLike | None = None,
    group_rows: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidences: bool = False,
    level: float = 0.95,
    seed: int = 0,
    questions: Sequence[str] | None = None,
    on_answer: OnAnswer | None = None,
) -> Any:
    """Judge the calibration of predictions, in sentences and numbers, at a stated level.

    There are three forms of positional arguments:

        judge(p, y)                           predictions and labels
        judge(classifier, x, y)               a fitted classifier of scikit-learn, on rows x
        judge(p_val, y_val, p_test, y_test)   fit calibrators on the first rows, judge the others

    The third form judges p_test itself, and p_test after each calibrator. A classifier in front of
    four arguments (x_val, y_val, x_test, y_test) does the same with its predictions.

    Rows are matched by position. Series and data frames with the same index labels in another order
    are matched by their index, unless an index only counts the rows.

    Parameters
    ----------
    p : array_like, tensor or data frame, (n,) or (n, k)
        Probabilities of class 1, or of k classes with rows that sum to 1. Columns of a data frame
        that are named by class (cat, p_cat, prob_cat) are matched with the classes by name.
    y : array_like, tensor or series, (n,)
        Labels 0..k-1, or names in `classes`. With a classifier, labels in its `classes_`. y (n, k)
        of 0 and 1, in the shape of p, tells which of k labels a row has; each label is then judged
        by itself (`harness.judging.labels`), and only `classes`, `names` and `level` are used.
    *more
        The further arguments of the second and third form.
    second : array_like or list of arrays, optional
        Predictions of other models on the same rows, in the shape of p. Each model is judged, and
        all are compared.
    calibrators : calibrator or list of calibrators, optional
        Calibrators for the third form, from `harness.calibrators`. Default: `Temperature()`.
    names : sequence of str, optional
        Names of the models, the name of the first model first.
    classes : sequence, optional
        Names of the classes, in the order of the columns of an array. Label j is the j-th name.
    groups : mapping of name to array_like (n,), or one array_like, optional
        Columns that divide the rows into groups, which are judged separately.
    group_rows : array_like (n,), optional
        Group of each row, such as a patient or document, if rows of a group may depend on one
        another. Tests and intervals then need independent groups only. They are approximate, for
        many groups. Estimates that need independent rows are left out.
    sample_weight : array_like (n,), optional
        Weights of the rows that are judged, numbers of at least 0: for how many cases of the
        population a row stands, such as 1 / (probability of its selection). All numbers are
        weighted, and tests and intervals count rows, so they are approximate as with `group_rows`.
        A row that stands for several observed cases is to be repeated instead (np.repeat).
    confidences : bool
        True if p (n,) holds confidences of predictions and y tells which of them were right. Only
        top-label calibration is then judged.
    level : float
        Level of all statements, in [0.5, 1). Tests err with probability at most 1 - level, and
        intervals have this level.
    seed : int
        Seed of the random draws. The same call gives the same numbers.
    questions : sequence of str, optional
        Some of "calibrated", "how_far", "where", "gains", "versus". Default: all.
    on_answer : callable, optional
        Function that is called with (question, answer, data) for each answer. If a question cannot
        be answered, the answer is a str, the reason.

    Returns
    -------
    Judgement
        Its str() is the text for a terminal. `.to_html(path)` writes the page, and `.to_json()`
        returns the values. For several labels per row it is a `LabelsJudgement`, which has str(),
        `.to_html(path)` and `.to_frame()`.

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
    if not more and has_several_labels(y):
        given = {"second": second, "calibrators": calibrators, "groups": groups}
        given |= {"group_rows": group_rows, "questions": questions}
        given |= {"sample_weight": sample_weight}
        if refused := [option for option, value in given.items() if value is not None]:
            raise BadInputError(
                f"y has several labels per row, which are judged without {', '.join(refused)}; "
                "leave it out, or judge one label: harness.judge(p[:, 0], y[:, 0], ...)."
            )
        name = str(names[0]) if names else "predictions"
        return judge_labels(p, y, classes=classes, name=name, level=level)
    models = read_models(
        (p, y, *more),
        second=second,
        calibrators=calibrators,
        names=names,
        classes=classes,
        groups=groups,
        group_rows=group_rows,
        sample_weight=sample_weight,
        confidences=confidences,
        seed=seed,
    )
    return judge_data(models, level=level, seed=seed, questions=questions, on_answer=on_answer)


def judge_data(
    judged: Sequence[Judged],
    *,
    level: float = 0.95,
    seed: int = 0,
    questions: Sequence[str] | None = None,
    on_answer: OnAnswer | None = None,
) -> Judgement:
    """Judge predictions that `from_file` or `from_arrays` returned.

    The first model is compared with the others. The arguments are those of `judge`.

    Raises
    ------
    BadInputError
        If level, seed or questions cannot be used, or if the models differ in rows or classes.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> data = from_arrays([0.2, 0.7, 0.4], [0, 1, 0])
    >>> judge_data([data], questions=["calibrated"]).data.n
    3
    """
    if not 0.5 <= level < 1.0:
        raise BadInputError(f"level is {level!r}; pass a number in [0.5, 1), such as 0.95.")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise BadInputError(f"seed is {seed!r}; pass an integer of at least 0.")
    for question in questions or ():
        if question not in QUESTIONS:
            raise BadInputError(
                f"questions holds {question!r}; allowed are {', '.join(QUESTIONS)}."
            )
    models = [repeated(model, int(seed)) for model in align(judged)]
    judgements = [Judgement(data=model, level=float(level), seed=int(seed)) for model in models]
    known: dict[str, Gains] = {}
    for question in QUESTIONS:
        if questions is not None and question not in questions:
            continue
        for i in range(len(models)) if question in FOR_EVERY_MODEL else (0,):
            answer: Any
            try:
                answer = _answer(question, judgements[i], models, known)
                judgements[i] = replace(judgements[i], **{question: answer})
            except UndefinedError as error:
                answer = as_sentence(error)
                reasons = {**judgements[i].unanswered, question: answer}
                judgements[i] = replace(judgements[i], unanswered=reasons)
            if on_answer is not None:
                on_answer(question, answer, models[i])
    return replace(judgements[0], others=tuple(judgements[1:]))


@one_thread()  # more threads would wait for each other: twice the CPU time for these small matrices
def _answer(
    question: str, judgement: Judgement, models: list[Judged], known: dict[str, Gains]
) -> Any:
    """Answer one question with a random stream that depends only on the seed and the question.

    Therefore asking fewer questions changes no number, with one exception. Intervals of the error
    are extended to 0 if the first question was asked and its tests do not reject.

    `known` holds the gains of models by name. The second and the fourth question need them.
    """
    data, level = judgement.data, judgement.level
    rng = _stream(judgement, question)
    if question == "calibrated":
        return tests(data, level, rng)
    if question == "how_far":
        return errors(data, level, rng, judgement.calibrated, _gains(judgement, known))
    if question == "where":
        if data.row_groups is None:
            return where(data, level)
        answer = where(one_row_each(data, rng), level)
        used = "One row of each group was used, drawn at random."
        if data.weighted_rows is not None:
            used = "Some rows were used, drawn with probabilities in proportion to their weights."
        return replace(answer, sentence=f"{answer.sentence} {used}")
    if question == "gains":
        return _gains(judgement, known)
    if len(models) == 1:
        raise UndefinedError(
            "there is only one model; a comparison needs a second one on the same rows"
        )
    return versus(models, level, rng)


def _stream(judgement: Judgement, question: str) -> np.random.Generator:
    return np.random.default_rng([judgement.seed, list(QUESTIONS).index(question)])


def _gains(judgement: Judgement, known: dict[str, Gains]) -> Gains:
    """Return the gains of a model, and compute them unless they are known."""
    data = judgement.data
    if data.name not in known:
        known[data.name] = gains(data, judgement.level, _stream(judgement, "gains"))
    return known[data.name]


def align(judged: Sequence[Judged]) -> list[Judged]:
    """Return models with different names and with classes in the order of the first model.

    Repeated names, as of files with the same name in two folders, get numbers: "a (2)".

    Raises
    ------
    BadInputError
        If the models differ in rows, classes or labels.
    """
    counts: Counter[str] = Counter()
    models = []
    for data in judged:
        model = aligned(judged[0], data)
        counts[model.name] += 1
        count = counts[model.name]
        models.append(model if count == 1 else replace(model, name=f"{model.name} ({count})"))
    return models
