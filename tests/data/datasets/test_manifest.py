import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftledger.core.errors import ConfigError, DataError
from driftledger.data.datasets.manifest import read_manifest
from tests.support.unprivileged import unprivileged

FILES = ("a.png", "b.png", "deep/c d.png", "été.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files to list, and one beside the folder that nobody may list."""
    (tmp_path / "secret.png").write_bytes(b"s")
    inner = tmp_path / "in"
    (inner / "deep").mkdir(parents=True)
    for number, name in enumerate(FILES):
        (inner / name).write_bytes(bytes([number]))
    return inner


def csv_of(folder: Path, *lines: str, head: str = "file,label,split", encoding: str = "utf-8") -> str:
    (folder / "labels.csv").write_text("\n".join([head, *lines, ""]), encoding=encoding)
    return "labels.csv"


def jsonl_of(folder: Path, *rows: object) -> str:
    (folder / "labels.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return "labels.jsonl"


def refused(folder: Path, manifest: str, kind: type[DataError | ConfigError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        read_manifest(folder, manifest)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 600
    return said


def test_rows_of_a_csv_file(folder: Path) -> None:
    manifest = csv_of(
        folder,
        "a.png,cat,train,1,first,indoors",
        '"deep/c d.png","siamese, or thai",support,2,,',
        "",
        "été.png,cat,test,3,,outdoors",
        head="file, label,split,width,id,category",
    )
    assert [row[1:2] + row[3:] for row in read_manifest(folder, manifest)] == [
        ("a.png", "cat", "support", "first", "indoors"),
        ("deep/c d.png", "siamese, or thai", "support", None, None),
        ("été.png", "cat", "test", None, "outdoors"),
    ]


def test_the_same_rows_as_csv_and_as_jsonl(folder: Path) -> None:
    columns = ("file", "label", "split", "id", "category")
    cells = [("a.png", "siamese, or thai", "train", "first", "in"), ("deep/c d.png", "3", "test", "", "")]
    lines = (",".join(f'"{cell}"' for cell in row) for row in cells)
    rows = read_manifest(folder, csv_of(folder, *lines, head=",".join(columns)))
    listed = jsonl_of(
        folder, dict(zip(columns, cells[0], strict=True)), {"file": "deep/c d.png", "label": 3, "split": "test"}
    )
    assert [row[1:] for row in rows] == [row[1:] for row in read_manifest(folder, listed)]
    assert [(row.label, row.split, row.id, row.category) for row in rows] == [
        ("siamese, or thai", "support", "first", "in"),
        ("3", "test", None, None),
    ]
    assert [row.place for row in rows] == ["line 2 of labels.csv", "line 3 of labels.csv"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_files_of_other_systems(folder: Path, encoding: str, end: str) -> None:
    text = end.join(["label,split,file,more", "cat,train,a.png,x", "", '"ca\u2028t",test,été.png,', ""])
    (folder / "labels.CSV").write_bytes(text.encode(encoding))
    rows = read_manifest(folder, "labels.CSV")
    assert [(row.label, row.split, row.file) for row in rows] == [
        ("cat", "support", "a.png"),
        ("ca\u2028t", "test", "été.png"),
    ]
    assert rows[1].place == "line 4 of labels.CSV"


def test_spaces_around_a_cell_and_the_form_of_a_letter_make_no_new_class(folder: Path) -> None:
    rows = read_manifest(folder, csv_of(folder, "a.png, caf\u00e9 , train", "b.png,cafe\u0301,test "))
    assert {row.label for row in rows} == {"caf\u00e9"}


def test_a_file_in_another_folder_below(folder: Path) -> None:
    (folder / "deep" / "labels.jsonl").write_text('{"file": "b.png", "label": "cat", "split": "test"}')
    (row,) = read_manifest(folder, "deep/labels.jsonl")
    assert row.path == folder.resolve() / "b.png"


@pytest.mark.parametrize(
    "file",
    ["../secret.png", "deep/../../secret.png", "{folder}/a.png", "/etc/passwd", "deep/../a.png", "out.png", "far/x"],
)
@pytest.mark.parametrize("write", [csv_of, jsonl_of])
def test_no_image_outside_of_the_folder(folder: Path, file: str, write: object) -> None:
    (folder / "out.png").symlink_to("../secret.png")
    (folder / "far").symlink_to("/etc", target_is_directory=True)
    named = file.format(folder=folder) if file != "far/x" else "far/passwd"
    if write is csv_of:
        manifest, line = csv_of(folder, "a.png,cat,train", f"{named},cat,test"), 3
    else:
        manifest, line = jsonl_of(folder, {"file": named, "label": "cat", "split": "test"}), 1
    assert refused(folder, manifest) == (
        f"line {line} of {manifest} names the image {named!r}, which lies outside of the folder; correct it"
    )


def test_a_link_to_an_image_inside_is_fine_once(folder: Path) -> None:
    (folder / "link.png").symlink_to("a.png")
    assert read_manifest(folder, csv_of(folder, "link.png,cat,train"))[0].path == folder.resolve() / "a.png"
    assert refused(folder, csv_of(folder, "a.png,cat,train", "b.png,cat,test", "link.png,dog,test")) == (
        "line 4 of labels.csv names the image of line 2 again, 'link.png'; remove one"
    )


@pytest.mark.parametrize("again", ["a.png", "./a.png", ".//a.png"])
def test_an_image_that_is_listed_twice(folder: Path, again: str) -> None:
    said = refused(folder, csv_of(folder, "a.png,cat,train", f"{again},cat,test"))
    assert said == f"line 3 of labels.csv names the image of line 2 again, {again!r}; remove one"


@pytest.mark.parametrize(
    ("file", "what"),
    [("gone.png", "is missing"), ("deep", "is missing"), ("a.png/b", "is missing"), ("x" * 5000, "can be no file")],
)
def test_an_image_that_is_not_there(folder: Path, file: str, what: str) -> None:
    said = refused(folder, csv_of(folder, f"{file},cat,train"))
    assert said.startswith("line 2 of labels.csv names the image ")
    assert said.endswith(f", which {what}; correct it")


@pytest.mark.parametrize("split", ["val", "Train", "supportt", "tset", "x" * 9999])
def test_an_unknown_split_is_answered_with_the_valid_ones(folder: Path, split: str) -> None:
    said = refused(folder, csv_of(folder, f"a.png,cat,{split}"))
    assert said.startswith(f"line 2 of labels.csv: split {split[:80]!r} is unknown; ")
    assert said.endswith("valid: support, test, train")


@pytest.mark.parametrize(
    ("line", "column"), [(",cat,test", "file"), ("a.png, ,test", "label"), ("a.png,cat,", "split")]
)
def test_an_empty_cell(folder: Path, line: str, column: str) -> None:
    assert refused(folder, csv_of(folder, line)) == f"line 2 of labels.csv has no {column}; fill it in"
    cells = {
        key: value for key, value in zip(("file", "label", "split"), line.split(","), strict=True) if key != column
    }
    assert refused(folder, jsonl_of(folder, cells)) == f"line 1 of labels.jsonl has no {column}; fill it in"


@pytest.mark.parametrize("head", ["file,label", "File,label,split", "file;label;split", "", "file,label,split,label"])
def test_columns_that_are_missing_or_there_twice(folder: Path, head: str) -> None:
    said = refused(folder, csv_of(folder, "a.png,cat,test", head=head))
    assert said.startswith("labels.csv must have a column ")
    assert said.endswith("once, in its first line; mend that line")


@pytest.mark.parametrize("line", ["a.png,cat", "a.png,cat,test,more"])
def test_a_line_with_another_number_of_cells(folder: Path, line: str) -> None:
    said = refused(folder, csv_of(folder, "b.png,cat,train", line))
    assert said == f"line 3 of labels.csv has {line.count(',') + 1} cells, and the first line 3; mend it"


def test_the_line_after_a_cell_of_several_lines(folder: Path) -> None:
    said = refused(folder, csv_of(folder, 'a.png,"a\nb\nc",train', "b.png,,test"))
    assert said == "line 5 of labels.csv has no label; fill it in"


@pytest.mark.parametrize("line", ['a.png,"cat,test', 'a.png,"c"at,test', f"a.png,{'x' * 200_000},test"])
def test_what_is_no_csv(folder: Path, line: str) -> None:
    assert " of labels.csv is not CSV that can be read (" in refused(folder, csv_of(folder, line))


@pytest.mark.parametrize("line", ["{", "nul", "[" * 100_000, "9" * 5000])
def test_what_is_no_json(folder: Path, line: str) -> None:
    (folder / "labels.jsonl").write_text(f"\n{line}\n")
    assert refused(folder, "labels.jsonl").startswith("line 2 of labels.jsonl is not JSON that can be read (")


@pytest.mark.parametrize("row", [[], "a.png", 3, None])
def test_a_row_that_is_no_object(folder: Path, row: object) -> None:
    assert refused(folder, jsonl_of(folder, row)) == "line 1 of labels.jsonl is not a JSON object; write one per image"


@pytest.mark.parametrize("column", ["file", "label", "split", "id", "category"])
@pytest.mark.parametrize("value", [1.5, True, ["x"], {"x": 1}, float("nan"), "\ud800"])
def test_a_cell_that_is_no_text(folder: Path, column: str, value: object) -> None:
    said = refused(folder, jsonl_of(folder, {"file": "a.png", "label": "cat", "split": "test"} | {column: value}))
    assert said.startswith(f"line 1 of labels.jsonl: {column} ")


def test_a_file_that_is_not_utf_8(folder: Path) -> None:
    assert refused(folder, csv_of(folder, "a.png,größe,test", encoding="latin-1")) == (
        "labels.csv is not UTF-8 (byte 25); save it as UTF-8"
    )


def test_a_file_without_rows(folder: Path) -> None:
    assert refused(folder, csv_of(folder)) == "labels.csv lists no images; add some, or mend manifest"
    assert refused(folder, jsonl_of(folder)) == "labels.jsonl lists no images; add some, or mend manifest"


@pytest.mark.parametrize("manifest", ["gone.csv", "../labels.csv", "/etc/passwd", "deep", "a\0.csv", "out.csv"])
def test_a_manifest_that_is_not_in_the_folder(folder: Path, manifest: str) -> None:
    (folder.parent / "labels.csv").write_text("file,label,split\n")
    (folder / "out.csv").symlink_to("../labels.csv")
    said = refused(folder, manifest, ConfigError)
    assert said.startswith(f"the manifest {manifest!r} ")
    assert said.endswith("; set manifest to a file below path")


def test_a_manifest_of_another_kind(folder: Path) -> None:
    assert refused(folder, "a.png", ConfigError) == (
        "the manifest 'a.png' is neither .csv nor .jsonl; convert it, or mend manifest"
    )


def test_a_manifest_without_rights(folder: Path) -> None:
    (folder / csv_of(folder, "a.png,cat,test")).chmod(0)
    assert unprivileged(refused, folder, "labels.csv").startswith("labels.csv cannot be read (Permission denied)")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(
    st.binary(max_size=200) | st.text(alphabet='abc.png,"/\n\r{}:', max_size=60).map(str.encode),
    st.sampled_from(["csv", "jsonl"]),
)
def test_whatever_it_holds_it_is_read_or_refused_in_one_sentence(folder: Path, data: bytes, kind: str) -> None:
    head = b"file,label,split\n" if kind == "csv" else b""
    (folder / f"labels.{kind}").write_bytes(head + data)
    try:
        rows, said = read_manifest(folder, f"labels.{kind}"), ""
    except DataError as error:
        rows, said = [], str(error)
    assert bool(rows) != bool(said)
    assert "\n" not in said
    assert all(row.path.is_relative_to(folder.resolve()) and row.label.strip() for row in rows)
