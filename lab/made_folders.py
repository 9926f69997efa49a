"""Folders of records with faults, for every benchmark, made from the default project's records.

The default project's own records hold no failed call, no repeat and few ties, so that its scores
cannot show a mistake there. ``made_folders.jsonl`` says which faults there are, and which folders
are made. Everything is read and written as JSON, so that any version can score them.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

DATA = Path("data").resolve()
"""The data and records of the default project, after ``driftledger run``."""


def make_folders(target: Path) -> None:
    """Write each folder: its records, its data, and in ``case.json`` how it is scored."""
    lines = read_lines(Path(__file__).with_suffix(".jsonl"))
    faults = {line["fault"]: line["results"] for line in lines if "fault" in line}
    for case in lines:
        if "folder" in case:
            folder = target / case["folder"]
            folder.mkdir(parents=True)
            make_folder(folder, case, faults)


def read_lines(path: Path) -> list[Json]:
    """Read a JSONL file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path: Path, rows: Iterable[Json]) -> None:
    """Write a JSONL file; with one row it is JSON, too."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def make_folder(folder: Path, case: Json, faults: Json) -> None:
    """Write one folder.

    Args:
        case: a line of ``made_folders.jsonl``. ``models`` are those whose records are the repeats
            of one model; of TRAC, those without and with examples.
        faults: name → the results that take a result's place.
    """
    row_of = write_data(folder / "data", case)
    records = []
    for number, model in enumerate(case["models"]):
        (folder / model).symlink_to(DATA / "records" / model / case["records"])
        ended = set()
        for record in read_lines(folder / model / "records.jsonl"):
            unit = record["unit"]
            place_record(record, case, number)
            results = record["results"]
            for draw in case["faults"]:
                facts = {"repeat": 0, **row_of.get(unit, {}), **record}
                add_fault(results, draw, facts, faults)
            if results and unit not in ended:
                records.append(record)
                if "generator" in case["keys"] and not goes_on(results):
                    ended.add(unit)
    write_lines(folder / "records.jsonl", records)
    card = json.loads((folder / case["models"][0] / "components.json").read_text())
    card["protocol"] |= case.get("protocol", {})
    write_lines(folder / "components.json", [card])
    write_lines(folder / "case.json", [case])
    if case["benchmark"] == "fidelity":
        write_ratings(folder / "ratings.csv", case["models"][0], records)


def place_record(record: Json, case: Json, number: int) -> None:
    """Make a record that of a repeat, or of a number of examples; its files lie with its model."""
    if "generator" in case["keys"]:
        record["repeat"] = number
        for result in record["results"]:
            if "file" in result:
                result["file"] = f"{case['models'][number]}/{result['file']}"
    elif number:
        record["step"] += 3 * number
        record["extra"]["shots"] = 2 * number
    if "texts" in case:
        record["results"].reverse()


def goes_on(results: list[Json]) -> bool:
    """Return True if a chain goes on after these results."""
    return results[-1]["outcome"] in ("ok", "truncated")


def add_fault(results: list[Json], draw: Json, facts: Json, faults: Json) -> None:
    """Draw whether a record has a fault, and put it in the place of the result of its role.

    Records with the same facts have the same faults. What would follow from a result is gone.
    """
    rng = Random(f"{draw} {[facts[name] for name in draw['by']]}")
    if rng.random() > draw["share"] or not draw["where"].items() <= facts.items():
        return
    fault = faults[rng.choice(draw["of"])]
    roles = [result["role"] for result in results]
    if not fault:
        results.clear()
    elif fault[0]["role"] in roles:
        at = roles.index(fault[0]["role"])
        rest = results[at + 1 :] if goes_on(fault) else []
        results[at:] = [{"key": results[at]["key"], **each} for each in fault] + rest


def write_data(target: Path, case: Json) -> dict[str, Json]:
    """Copy the dataset or question set with a case's changes, and return its rows by their ids.

    Images are linked. ``categories`` share the images and their names in turn; with ``texts``
    chains begin with texts.
    """
    source = DATA / case["data"]
    target.mkdir()
    (target / "images").symlink_to(source / "images")
    [table] = source.glob("*s.jsonl")
    row_of = {row["id"]: row for row in read_lines(table)}
    for name, row in row_of.items():
        row |= case.get("rows", {}).get(name, {})
        if "categories" in case:
            number, place = divmod(int(row["image_id"]), len(case["categories"]))
            row |= {"image_id": f"{number}", "category": case["categories"][place]}
        if "texts" in case:
            row |= {"file": f"{name}.txt", "sha256": name, **case["texts"]}
            text = f"A picture of {name}: a dark red ellipse and a light grey stripe."
            (target / row["file"]).write_text(text)
    write_lines(target / table.name, row_of.values())
    [path] = source.glob("*set.json")
    card = json.loads(path.read_text())
    write_lines(target / path.name, [card | case.get("card", {})])
    return row_of


def write_ratings(path: Path, model: str, records: Sequence[Json]) -> None:
    """Write what two people think of descriptions; the second one read some in another version."""
    lines = ["dataset,sample,model,description,rater,rating\n"]
    for number, record in enumerate(records):
        text = record["results"][0].get("text")
        if text and number % 5:
            place = f"photos,{record['unit']},{model}"
            lines.append(f'{place},"{text}",ann,{1 + number % 4}\n')
            lines.append(f'{place},"{text[number % 3 :]}",bob,{1 + number % 5}\n')
    path.write_text("".join(lines))
