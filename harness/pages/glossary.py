"""The names that a page uses for problems and estimators, with their ids and what they are in plain words."""

from __future__ import annotations

from harness.configure import catalogue, options


def entries(settings) -> list[tuple[str, str, str, str]]:
    """[(problem or estimator, name in figures and tables, id, what it is)] of all that the configuration has."""
    found = []
    for group in ("problem", "estimator"):
        labels = settings.labels.of(group)
        found += [
            (group, labels.get(name, name), name, about(group, name, node))
            for name, node in settings.chosen(group).items()
        ]
    return found


def plain(settings) -> dict[str, str]:
    """{id: its label, or where it has none its parameters} of the configuration's problems and estimators."""
    found = {}
    for group in ("problem", "estimator"):
        labels = settings.labels.of(group)
        found |= {
            name: labels[name] if name in labels else short(group, name, node)
            for name, node in settings.chosen(group).items()
        }
    return {name: text for name, text in found.items() if text != name}


def about(group: str, name: str, node) -> str:
    """What an id is: what its YAML says, or else the first sentence of its class, and the values of its parameters."""
    known = name in options.ids(group)
    target = node.get("_target_", "") if isinstance(node, dict) else ""
    own = options.option(group, name) if known else None
    said = catalogue.first_sentence(own.about if own and own.about else catalogue.docstring(target))
    given = _parameters(own.config if own and own.config.get("_target_") == target else node)
    return "; ".join(text for text in (said, given) if text)


def short(group: str, name: str, node) -> str:
    """What tells an id without a label from its neighbours: its parameters, else what `about` says."""
    return _parameters(node) or about(group, name, node)


def _parameters(node) -> str:
    """'bins 15, rule width' of {_target_: ..., bins: 15, rule: width}."""
    if not isinstance(node, dict):
        return ""
    given = {
        key: value
        for key, value in node.items()
        if key != "_target_" and value not in (None, "", [], {})
    }
    return ", ".join(
        f"{key.replace('_', ' ')} {catalogue.short(value)}" for key, value in given.items()
    )
