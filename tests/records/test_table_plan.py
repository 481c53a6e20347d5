"""Stored records match the configuration of today, also of classes that have moved."""

import json

import pyarrow.parquet as pq
import pytest
from printed import ROOT

from harness.configure.compose import compose
from harness.records.table_plan import configuration_digest

STORED = sorted((ROOT / "results" / "records_of").glob("*.parquet"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_records_are_of_the_present_configuration(path):
    stored = json.loads(pq.read_schema(path).metadata[b"calharness"])
    if stored.get("configuration") is None:
        pytest.skip("its plan does not depend on data files")
    settings = compose([f"experiment={stored['experiment']}"])
    assert configuration_digest(settings) == stored["configuration"]
