"""What is exported is read by the tools whose format it is."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.ledger.test_exports import exported


def test_every_eval_ever_takes_each_score(original, tmp_path):
    """The schema is that of the package's wheel, which ``make test-all`` installs; its code wants a
    newer Python."""
    schemas = Path(sys.prefix, "schemas/every_eval_ever/schemas")
    if not schemas.is_dir():
        pytest.skip("every-eval-ever is not installed; 'make test-all' does it")
    schema = json.loads((schemas / "eval.schema.json").read_bytes())
    files = list(exported(original, "every-eval-ever", tmp_path).rglob("*.json"))
    assert len(files) >= 6
    for file in files:
        record = json.loads(file.read_bytes())
        jsonschema.Draft7Validator(schema).validate(record)
        assert record["schema_version"] == schema["version"]
