"""What an id stands for: its object and the objects of our classes that it holds, with docstrings and parameters."""

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


def made_of(group: str, name: str) -> tuple[Any, dict[str, Any]]:
    """The object of an id and its configuration."""
    node = (
        {"_target_": f"harness.calibrators.{name}"}
        if group == "calibrator"
        else catalogue.config(group, name)
    )
    return build(group, name, node), node


class Part(NamedTuple):
    """An object of an id, or one that it holds: the path to it, its class, its docstring, and of every parameter name, value
    here, default, type and meaning."""

    path: str
    title: str
    doc: str
    rows: list[tuple[str, str, str, str, str]]


def parts_of(group: str, name: str) -> list[Part]:
    """The object of an id of problems, estimators or calibrators, then the objects of our classes that it holds."""
    comments = {} if group == "calibrator" else options.option(group, name).meaning
    made, node = made_of(group, name)
    return list(parts_in(title_of(made), made, node, comments))


def title_of(made: Any) -> str:
    """Name of a function, or of the class of an object."""
    return str(made.__name__ if inspect.isroutine(made) else type(made).__name__)


def parts_in(
    title: str, part: Any, node: Any, comments: dict[str, str], path: str = ""
) -> Iterator[Part]:
    """Yield an object, then the objects of our classes that it holds; `comments` say what its parameters mean."""
    doc = inspect.getdoc(part if inspect.isroutine(part) else type(part)) or ""
    given = node if isinstance(node, dict) else {}
    yield Part(
        path,
        title,
        doc,
        [(*row, comments.get(row[0]) or meaning(row[0], doc)) for row in _parameters(part, given)],
    )
    for field in dataclasses.fields(part) if dataclasses.is_dataclass(part) else ():
        value = getattr(part, field.name)
        if dataclasses.is_dataclass(value) and is_ours(type(value).__module__):
            yield from parts_in(
                type(value).__name__, value, given.get(field.name), {}, f"{path}{field.name}: "
            )


def _parameters(part: Any, given: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, value here, default of the class and type of every parameter."""
    if dataclasses.is_dataclass(part):
        return [
            (f.name, _text(getattr(part, f.name)), _default(f), _type(f.type))
            for f in dataclasses.fields(part)
            if f.init
        ]
    try:
        found = inspect.signature(
            part if inspect.isroutine(part) else type(part)
        ).parameters.values()
    except (TypeError, ValueError):
        return []
    rows = []
    for v in found:
        if v.kind not in (v.VAR_POSITIONAL, v.VAR_KEYWORD):
            default = "needed" if v.default is v.empty else _text(v.default)
            value = (
                _text(given[v.name]) if v.name in given else "" if v.default is v.empty else default
            )
            rows.append(
                (v.name, value, default, "" if v.annotation is v.empty else _type(v.annotation))
            )
    return rows


def _text(value: Any) -> str:
    if dataclasses.is_dataclass(value):
        return (
            f"{type(value).__name__}, below"
            if is_ours(type(value).__module__)
            else type(value).__name__
        )
    if isinstance(value, (tuple, list)) and any(map(dataclasses.is_dataclass, value)):
        return f"[{', '.join(type(v).__name__ for v in value)}]"
    return (
        textwrap.shorten(
            catalogue.short(list(value) if isinstance(value, tuple) else value),
            60,
            placeholder=" ...",
        )
        or "''"
    )


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return _text(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return getattr(field.default_factory, "__name__", "made")
    return "needed"


def _type(annotation: Any) -> str:
    return (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )


def meaning(name: str, doc: str) -> str:
    """What a docstring says of a parameter, in one line: the first sentence below it in the section of parameters, or else the
    sentence that names it in backquotes or as NAME = ..."""
    entry = re.search(rf"^(?:\w+, )*{name}(?:, \w+)*(?: :.*)?\n((?:    .+\n?)+)", doc, flags=re.M)
    if entry:
        return textwrap.shorten(catalogue.first_sentence(entry[1]), 110, placeholder=" ...")
    sentences = re.split(r"(?<=[a-z0-9)\]\"`][.;])\s+", " ".join(doc.split()))
    for pattern in (rf"`{name}[`:]", rf"\b{name}( =|=|:)"):
        for sentence in sentences:
            if re.search(pattern, sentence) and ">>>" not in sentence:
                return textwrap.shorten(sentence.rstrip(".;"), 110, placeholder=" ...")
    return ""
