"""A flame graph of counted stacks, as an SVG that needs nothing else; the texts of its boxes are in their titles."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

WIDTH, ROW, LETTER = 1200, 17, 6.6  # pixels
NARROWEST = 0.8
COLOURS = {
    "start": "#9aa5b1", "plan": "#8fb8de", "draw": "#7bc8a4", "estimate": "#f2a65a", "record": "#c3a6d8", "cells": "#d8c99b",
    "compute": "#b8c4ce", "read": "#a3c1ad", "figures": "#e58f8f",
}  # fmt: skip


def collapsed(stacks: Mapping[str, int]) -> str:
    """One line per stack, "frame;frame;frame count": what speedscope and flamegraph.pl read."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))


def svg(stacks: Mapping[str, int], title: str) -> str:
    """The stacks as boxes, a caller above what it calls, widths in proportion to the counts.

    Examples
    --------
    >>> svg({"plan;f;g": 3, "plan;f": 1}, "where").count("<rect")
    4
    """
    root: dict[str, Any] = {"count": 0, "inner": {}}
    for stack, count in stacks.items():
        node = root
        node["count"] += count
        for name in stack.split(";"):
            node = node["inner"].setdefault(name, {"count": 0, "inner": {}})
            node["count"] += count
    whole = max(root["count"], 1)
    boxes: list[str] = []
    deepest = _boxes(root, title, 0.0, 0, "#e8e8e8", WIDTH / whole, whole, boxes)
    height = (deepest + 1) * ROW + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="monospace" font-size="11">\n<title>{escape(title)}</title>\n{"".join(boxes)}</svg>\n'
    )


def save(stacks: Mapping[str, int], title: str, stem: Path) -> list[Path]:
    """Write <stem>.svg and <stem>.collapsed; returns both."""
    files = [Path(f"{stem}.svg"), Path(f"{stem}.collapsed")]
    for path, content in zip(files, (svg(stacks, title), collapsed(stacks))):
        path.write_text(content)
    return files


def _boxes(node, name, left, depth, colour, scale, whole, boxes):
    width = node["count"] * scale
    if width < NARROWEST:
        return depth - 1
    said = escape(f"{name}: {node['count'] / whole:.1%}")
    shown = escape(name[-int(width / LETTER) :]) if width > 4 * LETTER else ""
    boxes.append(
        f'<g><title>{said}</title><rect x="{left:.1f}" y="{depth * ROW}" width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" '
        f'fill="{colour}"/><text x="{left + 2:.1f}" y="{depth * ROW + 12}">{shown}</text></g>\n'
    )
    deepest = depth
    for inner, one in sorted(node["inner"].items(), key=lambda item: -item[1]["count"]):
        own = COLOURS.get(inner, colour) if depth == 0 else colour
        deepest = max(deepest, _boxes(one, inner, left, depth + 1, own, scale, whole, boxes))
        left += one["count"] * scale
    return deepest
