"""Answers of language models in JSON Lines: stated confidences, and repeated prompts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from harness.common import data_files
from harness.sources import files, json_lines

CONFIDENCE = "confidence"
PROMPTS = ("prompt", "question", "prompt_id", "question_id", "id")
OTHER_READINGS = ("top_label", "logits", "positive", "class_names")  # options


def answers_of_models(
    path: str | Path, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the options for reading a file of answers, and its column of repeated prompts.

    In a .jsonl file with a column `confidence`, this column holds confidences of answers
    (top_label), unless the options say otherwise. Rows with the same prompt may depend on one
    another: the column is the first of PROMPTS that has at least two different values, some of
    them repeated, and none missing. Other files are returned with their options and no column.
    """
    if not str(path).lower().endswith(json_lines.ENDINGS):
        return dict(options), {}
    columns = files.arrays(data_files.find(str(path)), options.get("split", "test"))
    chosen = options.get("probabilities")
    is_stated = CONFIDENCE in columns and chosen in (None, CONFIDENCE)
    if is_stated and not any(name in options for name in OTHER_READINGS):
        options = {**options, "top_label": True}
    for name in PROMPTS:
        values = columns.get(name)
        if values is not None and values.ndim == 1 and not pd.isna(values).any():
            if 1 < len(pd.unique(values)) < len(values):
                return dict(options), {name: values}
    return dict(options), {}
