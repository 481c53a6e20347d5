"""Collect docstrings and parameters of an id's object, for `calharness info` and for pages.

An estimator or problem may contain other objects, such as a calibrator. Those of the harness are
documented too.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

from harness.common.user_code import is_ours
from harness.configure import catalogue, options
from harness.plan.components import build


class ObjectDoc(NamedTuple):
    """Documentation of one object: the object of an id, or an object inside it.

    path   names of the fields that lead to the object; "" for the object of the id
    title  name of the class or function
    doc    docstring of the class or function
    rows   one tuple for each parameter: name, value, default, type, explanation
    """

    path: str
    title: str
    doc: str
    rows: list[tuple[str, str, str, str, str]]


def build_object(group: str, name: str) -> tuple[Any, dict[str, Any]]:
    """Return the object that an id stands for, and its configuration."""
    if group == "calibrator":
        node = {"_target_": catalogue.calibrators()[name]}
    else:
        node = catalogue.config(group, name)
    return build(group, name, node), node


def document_id(group: str, name: str) -> list[ObjectDoc]:
    """Return the documentation of an id's object, followed by that of the objects inside it.

    `group` is problem, estimator or calibrator. Inner objects from outside the harness are left
    out.
    """
    comments = {} if group == "calibrator" else options.option(group, name).meaning
    value, node = build_object(group, name)
    return list(document_object(value, node, comments))


def document_object(
    value: Any, node: Any, comments: dict[str, str], path: str = ""
) -> Iterator[ObjectDoc]:
    """Yield the documentation of an object, followed by that of the objects inside it.

    Parameters
    ----------
    value : object
        The object to document.
    node : object
        Configuration from which the object was built.
    comments : dict
        {parameter: explanation}. Other explanations are taken from the docstring.
    path : str
        Names of the fields that lead to the object.
    """
    named = value if inspect.isroutine(value) else type(value)
    doc = inspect.getdoc(named) or ""
    node = node if isinstance(node, dict) else {}
    rows = [
        (*row, comments.get(row[0]) or find_meaning(row[0], doc))
        for row in _parameters(value, node)
    ]
    yield ObjectDoc(path, named.__name__, doc, rows)
    for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
        inner = getattr(value, field.name)
        if dataclasses.is_dataclass(inner) and is_ours(type(inner).__module__):
            yield from document_object(inner, node.get(field.name), {}, f"{path}{field.name}: ")


def _parameters(value: Any, node: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, value, default, type) of each parameter of an object, as texts.

    `node` is the configuration from which the object was built.
    """
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.init:
                default, shown = field.default, getattr(value, field.name)
                if field.default_factory is not dataclasses.MISSING:
                    default = type(field.default_factory())
                yield field.name, _text(shown), _default(default), _type(field.type)
        return
    try:
        signature = inspect.signature(value if inspect.isroutine(value) else type(value))
    except (TypeError, ValueError):
        return
    for p in signature.parameters.values():
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            default = node.get(p.name, p.default)
            shown = "" if default is p.empty else _text(default)
            yield p.name, shown, _default(p.default), _type(p.annotation)


def _default(value: Any) -> str:
    return "needed" if value in (dataclasses.MISSING, inspect.Parameter.empty) else _text(value)


def _text(value: Any) -> str:
    """Return a parameter's value as text of at most 60 characters."""
    if isinstance(value, type):
        return value.__name__
    if dataclasses.is_dataclass(value):
        name = type(value).__name__
        return f"{name}, below" if is_ours(type(value).__module__) else name
    if isinstance(value, (tuple, list)) and any(map(dataclasses.is_dataclass, value)):
        return f"[{', '.join(type(item).__name__ for item in value)}]"
    text = catalogue.short_text(list(value) if isinstance(value, tuple) else value)
    return textwrap.shorten(text, 60, placeholder=" ...") or "''"


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else annotation.__name__


def find_meaning(name: str, doc: str) -> str:
    """Return the sentence of a docstring that explains a parameter, on one line, or "".

    It is the first sentence of the entry in the section Parameters. Without such an entry, it is
    the first sentence that contains `name` in backquotes, or as "name = ...".
    """
    entry = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*(?: :.*)?\n((?:    .+\n?)+)", doc, flags=re.M)
    if entry:
        return " ".join(catalogue.first_sentence(entry[1]).split())
    sentences = re.split(r"(?<=[a-z0-9)\]\"`][.;])\s+", " ".join(doc.split()))
    for pattern in (rf"`{name}[`:]", rf"\b{name}( =|=|:)"):
        for sentence in sentences:
            if re.search(pattern, sentence) and ">>>" not in sentence:
                return sentence.rstrip(".;")
    return ""
