"""What is exported is read by the tools whose format it is."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from inspect_ai.log import read_eval_log

from driftledger.exports import export
from driftledger.project.project import Project
from tests.demo.test_sounds import RUN
from tests.ledger.conftest import MODEL
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


def test_inspect_reads_every_step_of_every_unit(original, tmp_path):
    [file] = exported(original, "inspect", tmp_path).glob("*genception*")
    log = read_eval_log(str(file), resolve_attachments=True)
    assert (log.status, log.eval.model, log.eval.task) == (
        "success",
        MODEL,
        "genception_my_images",
    )
    assert "GC@1" in {each.name for each in log.results.scores}
    images = shown(log, "image")
    assert images
    assert all(image.startswith("data:image/png;base64,") for image in images)


def shown(log, kind):
    """The images or sounds of a log's first sample."""
    parts = (
        part
        for message in log.samples[0].messages
        if not isinstance(message.content, str)
        for part in message.content
    )
    return [getattr(part, kind) for part in parts if part.type == kind]


def test_inspect_plays_the_sounds_of_every_step(heard, tmp_path):
    assert export(Project(heard.root), "inspect", RUN, tmp_path) >= 2
    [file] = tmp_path.glob("*genception*")
    sounds = shown(read_eval_log(str(file), resolve_attachments=True), "audio")
    assert len(set(sounds)) == 3
    assert all(sound.startswith("data:audio/wav;base64,") for sound in sounds)
