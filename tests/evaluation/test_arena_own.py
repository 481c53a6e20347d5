"""Our own estimators in the arena: their regret on both halves of the families, by hand."""

import numpy as np
import pandas as pd
import pytest
from test_arena import CLASSES, FAMILIES, rows

from harness.configure.arena import Arena
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.evaluation.arena import own as arena_own

SQUARES = {"level": 0.95, "low": 0.0, "high": 1.0}


def records():
    """Power (p, developed on): best is off by 0.12, a by 0.1.

    Wavy (q, test): best by 0.4, a by 0.2, b by 0.1.
    """
    return pd.DataFrame(
        [
            *rows("best", [0.42, 0.18], **SQUARES),
            *rows("a", [0.4, 0.2]),
            *rows("b", [0.5, 0.1]),
            *rows("best", [0.5, 0.5], "q", truth=0.1),
            *rows("a", [0.3, 0.3], "q", truth=0.1),
            *rows("b", [0.2, 0.2], "q", truth=0.1),
            *rows("oracle", [0.3, 0.3]),
        ]
    )


def test_each_half_by_hand():
    table = arena_own.halves(arena.settings(records(), FAMILIES, CLASSES), ["power"], resamples=20)
    own = table[table["role"].eq("own")].set_index("half")
    assert np.allclose(own.loc[["development", "test"], "regret"], [1.2, 4.0]) and np.allclose(
        own["worst"], own["regret"]
    )
    published = table[table["role"].eq("published")].set_index("half")
    assert published["estimator"].to_dict() == {"development": "a", "test": "a"}
    assert np.allclose(published["regret"], [1.0, 2.0])


def test_a_half_without_own_estimators_has_the_published_alone():
    frame = records()
    table = arena.settings(frame[~frame["estimator"].eq("best")], FAMILIES, CLASSES)
    assert set(arena_own.halves(table, ["power"], resamples=0)["role"]) == {"published"}
    assert not len(arena_own.halves(table[:0], ["power"], resamples=0))


TEST_FAMILIES = """groups out_of_fold plateau wrong_link sawtooth spiky rough bimodal averaged
confused regions dead_zone noisy_logits chirp cantor asymmetric concentrated cubic""".split()


def test_the_development_families_are_all_but_the_fixed_test_families():
    whole = Arena("arena")
    development = arena.read_development(whole)
    assert sorted(set(arena.read_families(whole)) - set(development)) == sorted(TEST_FAMILIES)
    with pytest.raises(BadInputError, match="arena.development"):
        Arena.from_value({"families": {"power": ["p"]}, "development": ["wavy"]})
