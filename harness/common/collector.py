"""How often Python looks for cycles of garbage: after every 700 new objects, or, while nothing but our own code runs, seldom.

Imports and drawings make hundreds of thousands of objects that stay; looking through them again and again is a tenth of their
time. An estimator may leave large arrays in cycles: before one is called it is as usual again.
"""

from __future__ import annotations

import gc

SELDOM = (50_000, 20, 20)
_usual: list[tuple[int, int, int]] = []


def seldom() -> None:
    _usual.append(gc.get_threshold())
    gc.set_threshold(*SELDOM)


def as_usual() -> None:
    """As before `seldom`; nothing where that was not called, as in a program that calls us and may have a choice of its own."""
    if _usual:
        gc.set_threshold(*_usual[0])
        _usual.clear()
