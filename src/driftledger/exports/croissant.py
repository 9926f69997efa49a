"""Croissant 1.0: each dataset and question set of a run, with its images and a description that other tools load."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from driftledger.core.canonical import canonical_json, pretty_json, sha256_bytes
from driftledger.exports.base import Files, Run, source_of
from driftledger.ledger.lineage import Lineage

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"

_RECORDS = "records.json"
"""What stands in lines in the manifest as one array: of lines, the reader takes an id 0001 for the number 1."""

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""As the specification wants it, word for word."""

_TYPES: Mapping[type, str] = {bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float", str: "sc:Text"}


def files(run: Run) -> Files:
    """``<dataset>/croissant.json``, and beside it the dataset's own files."""
    made: dict[str, bytes | Path] = {}
    for lineage in run.data:
        folder = run.root / lineage.data.path
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                made[f"{lineage.on}/{path.relative_to(folder).as_posix()}"] = path
        [manifest] = folder.glob("*.jsonl")
        lines = [json.loads(line) for line in manifest.read_text(encoding="utf-8").split("\n") if line]
        columns = _columns(lines)
        records = canonical_json([{key: line.get(key) for key in columns} for line in lines]).encode()
        made[f"{lineage.on}/{_RECORDS}"] = records
        described = _dataset(run, lineage, manifest.stem, columns, records)
        made[f"{lineage.on}/croissant.json"] = pretty_json(described).encode()
    return made


def _dataset(run: Run, lineage: Lineage, name: str, columns: Mapping[str, str], records: bytes) -> dict[str, Any]:
    """What is in the folder, as JSON-LD.

    Args:
        name: what its records are: samples or questions.
    """
    digest = lineage.score.inputs.data_digest
    source = ", ".join(f"{key} {value}" for key, value in source_of(run, lineage).items())
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": lineage.on,
        "description": f"{name} from {source}; digest {digest}",
        "conformsTo": CONFORMS_TO,
        "datePublished": run.date.date().isoformat(),
        "version": f"1.0.0+{digest[:12]}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": _RECORDS,
                "name": _RECORDS,
                "contentUrl": _RECORDS,
                "contentSize": f"{len(records)} B",
                "encodingFormat": "application/json",
                "sha256": sha256_bytes(records),
            },
            {
                "@type": "cr:FileSet",
                "@id": "images",
                "name": "images",
                "encodingFormat": "image/png",
                "includes": "images/*",
            },
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "field": [_field(name, *each) for each in columns.items()],
            }
        ],
    }


def _columns(lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Column → its type; those of one type in all lines, where they have any value."""
    types: dict[str, set[str]] = {}
    for line in lines:
        for key, value in line.items():
            if value is not None:
                types.setdefault(key, set()).add(_TYPES.get(type(value), ""))
    return {key: each.pop() for key, each in sorted(types.items()) if len(each) == 1 and "" not in each}


def _field(records: str, column: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{column}",
        "name": f"{records}/{column}",
        "dataType": kind,
        "source": {"fileObject": {"@id": _RECORDS}, "extract": {"jsonPath": f"$[*].{column}"}},
    }
