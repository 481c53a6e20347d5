"""A page of every problem: how its scores are spread, what is wrong where, its truths by two methods, and who fails on it."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands import check_problems, info
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import one_hot, reduce
from harness.problems.base import ProblemSpec, members_of
from harness.report import arena, problem_cards
from harness.report.page import amount, number
from harness.report.style import COLOURS, pyplot
from harness.runs import catalogue, planning_of, records
from harness.site import arena_data, docstrings, failures, layout
from harness.site.arena_data import Arena
from harness.site.estimator_cards import api, users
from harness.site.leaderboard import ESTIMANDS, NOTIONS, signed

if TYPE_CHECKING:
    import numpy as np

    from harness.site.build import Asset, Page, Sources

