"""Names of classes: how they are written, and which names mean the same class.

Names are compared as text first, then as numbers and words (`001` is 1, `yes` is `True`), and at
last as truth values (`False` is 0). The prefix of names of columns (`p_cat`, `class_10`) is
ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PROBABILITY_NAMES = (
    "p", "prob", "probs", "probability", "probabilities", "proba", "probas", "confidence", "score",
    "scores", "y_prob", "y_proba", "y_score", "y_pred_proba", "y_pred_prob",
)  # fmt: skip
IGNORED = "-100"  # label that losses of PyTorch leave out
IGNORED_MEANING = "-100 marks rows that losses of PyTorch ignore"
SHOWN = 6  # most names that a message lists
WORDS = {
    **dict.fromkeys(("false", "no"), "false"),
    **dict.fromkeys(("true", "yes"), "true"),
    **dict.fromkeys(("none", "null", "~"), "null"),
}
TRUTH_VALUES = {"false": False, "no": False, "0": False, "true": True, "yes": True, "1": True}


def as_text(value: Any) -> str:
    """Return a name or label as text; whole numbers get no decimal point.

    White space at the ends is removed. Letters with accents are composed (Unicode NFC), because
    programs write them in two ways.
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def few(names: Sequence[Any], most: int = SHOWN) -> str:
    """Return names as a comma-separated list; long lists show only the first names and the last."""
    texts = [str(name).replace("\n", "\\n") for name in names]  # a message has one line
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[: most - 1])}, ... {texts[-1]} ({len(texts):,} in all)"


def match(wanted: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Return the index in `names` of each wanted name, or None unless all have exactly one.

    All names are compared in the same way: as text, as numbers and words, or as truth values. Truth
    values are compared only if `names` has exactly one false and one true entry.

    Examples
    --------
    >>> match(["2", "10"], ["010", "002"]), match(["1"], ["True", "False"]), match(["a"], ["b"])
    ([1, 0], [0], None)
    """
    return _match(wanted, names, (str, _value, _truth_value))


def find(wanted: str, names: Sequence[str]) -> str | None:
    """Return the one of `names` that means `wanted`, or None; 0 and False differ here.

    Names that a configuration reads as values (0, 1.5, true, null) are found in this way.

    Examples
    --------
    >>> find("1.50", ["p", "1.5"]), find("True", ["yes", "p"]), find("None", ["p", "null"])
    ('1.5', 'yes', 'null')
    """
    places = _match([wanted], names, (str, _value))
    return None if places is None else names[places[0]]


def spellings(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the classes that names of columns may stand for, the longest form first.

    Examples
    --------
    >>> spellings(["p_class_01", "p_class_02"])
    [('p_class_01', 'p_class_02'), ('class_01', 'class_02'), ('1', '2')]
    """
    forms = [tuple(names)]
    for prefix in PROBABILITY_NAMES:
        ends = [_end(name, prefix) for name in names]
        if all(ends):
            forms.append(tuple(map(str, ends)))
    forms.append(without_prefix(names))
    forms.append(without_prefix(forms[-1]))
    return [form for form in dict.fromkeys(forms) if len(set(form)) == len(names)]


def classes_of_columns(names: Sequence[str], labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return the class of each column in the spelling of the labels.

    `names` are the names of the columns, `labels` the different labels. Return None if a label
    belongs to no column, or if it is unclear from which number the labels count.

    Examples
    --------
    >>> classes_of_columns(["prob_class_10", "prob_class_9"], ["9", "10"])
    ('10', '9')
    >>> classes_of_columns(["p_1", "p_2", "p_3"], ["1", "2"]) is None
    True
    """
    for classes in spellings(names):
        if match(labels, classes) is not None:
            return None if counts_twice(labels, classes) else classes
    return None


def label_places(labels: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Return the index in the names of the classes of each label, or None.

    `labels` are the different labels. They are the names, or numbers in them.

    Examples
    --------
    >>> label_places(["2"], ["class_2", "class_1", "class_0"]), label_places(["0"], ["b", "a"])
    ([0], None)
    """
    for classes in spellings(names):
        if classes == tuple(names) or not counts_twice(labels, classes):
            places = match(labels, classes)
            if places is not None:
                return places
    return None


def counts_twice(labels: Sequence[str], classes: Sequence[str]) -> bool:
    """Return True if labels may count from 0, or from the first number of the classes.

    This is so if the classes are numbers other than 0..k-1, and all labels are among both.
    """
    counted = list(map(str, range(len(classes))))
    if not are_numbers(classes) or match(counted, classes) is not None:
        return False
    return match(labels, counted) is not None and match(labels, classes) is not None


def order_by_value(classes: Sequence[str]) -> list[int]:
    """Return the indices that sort numbers and truth values; other classes keep their order.

    Examples
    --------
    >>> order_by_value(["10", "2"]), order_by_value(["yes", "no"]), order_by_value(["b", "a"])
    ([1, 0], [1, 0], [0, 1])
    """
    numbers = [_number(name) for name in classes]
    values = [number for number in numbers if number is not None]
    if len(values) == len(classes):
        return sorted(range(len(classes)), key=values.__getitem__)
    words = [_truth_value(name) for name in classes]
    if len(words) == 2 and words == [True, False]:
        return [1, 0]
    return list(range(len(classes)))


def are_numbers(names: Sequence[str]) -> bool:
    """Return True if all names are whole numbers of at most 9 digits."""
    return all(re.fullmatch(r"\d{1,9}", name) for name in names)


def are_swapped(labels: Sequence[str], names: Sequence[str]) -> bool:
    """Return True if `names` are a true and then a false word, but the labels are 0 and 1."""
    words = [WORDS.get(name.lower()) for name in names]
    return words == ["true", "false"] and set(labels) <= {"0", "1"}


def without_prefix(texts: Sequence[str]) -> tuple[str, ...]:
    """Return column names without their common prefix.

    Numbered columns may have any prefix. From other columns, only a usual prefix for probabilities
    (such as `p` or `prob`) is removed.

    Examples
    --------
    >>> without_prefix(["prob_cat", "prob_dog"]), without_prefix(["class_01", "class_02"])
    (('cat', 'dog'), ('1', '2'))
    >>> without_prefix(["cat", "p_dog"])
    ('cat', 'p_dog')
    """
    numbered = [re.fullmatch(r"(.*?)[_. -]?(\d{1,9})", text) for text in texts]
    if all(numbered) and len({match[1] for match in numbered if match}) == 1:
        numbers = tuple(str(int(match[2])) for match in numbered if match)
        if len(set(numbers)) == len(numbers):
            return numbers
    for prefix in PROBABILITY_NAMES:
        suffixes = [suffix(text, prefix) for text in texts]
        if all(suffixes) and len(set(suffixes)) == len(texts):
            return tuple(map(str, suffixes))
    return tuple(texts)


def suffix(text: str, prefix: str) -> str | None:
    """Return the part of a column name that follows the prefix, or None if there is no such part.

    Numbers lose their leading zeros.

    Examples
    --------
    >>> suffix("p_cat", "p"), suffix("p01", "p"), suffix("pig", "p")
    ('cat', '1', None)
    """
    end = _end(text, prefix)
    return str(int(end)) if end and re.fullmatch(r"\d{1,9}", end) else end


def class_of_column(name: str) -> tuple[str, ...]:
    """Return the classes that the name of a single column may stand for.

    Examples
    --------
    >>> class_of_column("prob_cat"), class_of_column("p")
    (('prob_cat', 'cat'), ('p',))
    """
    ends = (suffix(name, prefix) for prefix in PROBABILITY_NAMES)
    return (name, *(end for end in ends if end is not None))


def _match(
    wanted: Sequence[str], names: Sequence[str], keys: Sequence[Callable[[str], Any]]
) -> list[int] | None:
    """Return the index in `names` of each wanted name by the first of `keys` that finds all.

    A key turns a name into a value that is compared, or into None if it does not apply.
    """
    for key in keys:
        values = [key(name) for name in names]
        truths = [value for value in values if value is not None]
        if key is _truth_value and sorted(truths) != [False, True]:
            continue
        counts = Counter(values)
        asked = [key(name) for name in wanted]
        is_found = all(value is not None and counts[value] == 1 for value in asked)
        if is_found and len(set(asked)) == len(asked):
            places = {value: j for j, value in enumerate(values)}
            return [places[value] for value in asked]
    return None


def _end(text: str, prefix: str) -> str | None:
    """Return what follows the prefix of a column name as it is written, or None."""
    form = re.escape(prefix) + r"(?:[_. -]?(\d{1,9})|[_. -](.+))"
    found = re.fullmatch(form, text, re.IGNORECASE)
    return (found[1] or found[2]).strip() if found else None


def _value(name: str) -> tuple[str, Any]:
    """Return the number or word that a name stands for, or the name."""
    number = _number(name)
    return ("number", number) if number is not None else ("text", WORDS.get(name.lower(), name))


def _number(name: str) -> float | None:
    return float(name) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", name) else None


def _truth_value(name: str) -> bool | None:
    return TRUTH_VALUES.get(name.lower())
