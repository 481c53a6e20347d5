"""Parts of an id: its object and our objects inside it, with docstrings and parameters."""

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


class Part(NamedTuple):
    """An object of an id, or an object that it holds.

    path   fields that lead to it, "" for the object of the id
    title  its class, or its name if it is a function
    doc    its docstring
    rows   of each parameter: name, value here, default, type, meaning
    """

    path: str
    title: str
    doc: str
    rows: list[tuple[str, str, str, str, str]]


def made_of(group: str, name: str) -> tuple[Any, dict[str, Any]]:
    """Return the object of an id and its configuration."""
    node = {"_target_": f"harness.calibrators.{name}"}
    if group != "calibrator":
        node = catalogue.config(group, name)
    return build(group, name, node), node


def parts_of(group: str, name: str) -> list[Part]:
    """Return the object of a problem, estimator or calibrator, then our objects inside it."""
    comments = {} if group == "calibrator" else options.option(group, name).meaning
    value, node = made_of(group, name)
    return list(parts_in(value, node, comments))


def parts_in(value: Any, node: Any, comments: dict[str, str], path: str = "") -> Iterator[Part]:
    """Yield an object, then our objects inside it. `comments`: meanings of its parameters."""
    named = value if inspect.isroutine(value) else type(value)
    doc = inspect.getdoc(named) or ""
    node = node if isinstance(node, dict) else {}
    rows = [
        (*row, comments.get(row[0]) or meaning(row[0], doc)) for row in _parameters(value, node)
    ]
    yield Part(path, named.__name__, doc, rows)
    for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
        inner = getattr(value, field.name)
        if dataclasses.is_dataclass(inner) and is_ours(type(inner).__module__):
            yield from parts_in(inner, node.get(field.name), {}, f"{path}{field.name}: ")


def _parameters(value: Any, node: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, value here, default and type of each parameter."""
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
    """Return a value in at most 60 characters."""
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


def meaning(name: str, doc: str) -> str:
    """Return what a docstring says of a parameter, on one line.

    It is the first sentence below the name in the section of parameters, or else the sentence that
    has it in backquotes or as NAME = ...
    """
    entry = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*(?: :.*)?\n((?:    .+\n?)+)", doc, flags=re.M)
    if entry:
        return textwrap.shorten(catalogue.first_sentence(entry[1]), 110, placeholder=" ...")
    sentences = re.split(r"(?<=[a-z0-9)\]\"`][.;])\s+", " ".join(doc.split()))
    for pattern in (rf"`{name}[`:]", rf"\b{name}( =|=|:)"):
        for sentence in sentences:
            if re.search(pattern, sentence) and ">>>" not in sentence:
                return textwrap.shorten(sentence.rstrip(".;"), 110, placeholder=" ...")
    return ""
