"""The problems and estimators of a composed configuration: dictionaries that are built later."""

from __future__ import annotations

from typing import Any

from harness.configure.options import ids
from harness.errors import BadInputError


def without_others(group: str, nodes: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """Return `nodes` without parameters of ids that `group=[...]` on the command line leaves out.

    An experiment may set parameters of any of its components. Parameters that the command line sets
    stay, because they are a mistake.
    """
    words = [text.lstrip("+").partition("=")[0] for text in overrides]
    if group not in words:
        return nodes
    typed = {word.split(".")[1] for word in words if word.startswith(f"{group}.")}
    return {
        name: node
        for name, node in nodes.items()
        if not isinstance(node, dict) or "_target_" in node or name in typed
    }


def check(group: str, nodes: dict[str, Any]) -> None:
    """Raise BadInputError for a problem or estimator without a `_target_`."""
    for name, node in nodes.items():
        if isinstance(node, dict) and "_target_" in node:
            continue
        if isinstance(node, dict) and node and name in ids(group):
            others = ", ".join(other for other in nodes if other != name) or "none"
            raise BadInputError(
                f"{group}.{name} has parameters on the command line, but {name} is not among the "
                f"{group}s of this run ({others}); add +{group}={name}."
            )
        if not isinstance(node, dict):
            raise BadInputError(
                f"{group}.{name} is {node!r}, which is no object; set a parameter by "
                f"{group}.{name}.PARAMETER=VALUE, or a class by "
                f"+{group}.{name}._target_=module.ClassOrFunction."
            )
