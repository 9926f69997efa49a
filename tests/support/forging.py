"""Edits as data: what a forger or a stranger changes in a project or in a bundle.

An edit names a file by ``in`` and has one of the keys of :func:`edited` or :func:`change`. Files
are a mapping of names to bytes: the members of a bundle, or :class:`Below`, a folder.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, MutableMapping
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

Edit = dict[str, Any]
_PARTS = {"separators": (",", ":"), "ensure_ascii": False, "sort_keys": True}


class Below(MutableMapping[str, bytes]):
    """The files below a folder, by their paths."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __getitem__(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def __setitem__(self, name: str, data: bytes) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(data)

    def __delitem__(self, name: str) -> None:
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def __iter__(self) -> Iterator[str]:
        for path in sorted(self.root.rglob("*")):
            if path.is_file():
                yield path.relative_to(self.root).as_posix()

    def __len__(self) -> int:
        return len([*self])


def forge(files: MutableMapping[str, bytes], edits: list[Edit], **names: str) -> None:
    """Make edits, one after the other; ``{name}`` in them stands for one of the names."""
    for plain in edits:
        change(files, _named(plain, names))


def _named(value: Any, names: dict[str, str]) -> Any:
    """Put names in the place of ``{name}`` in all texts but patterns."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _named(item, names) for key, item in value.items()}
    return value


def change(files: MutableMapping[str, bytes], edit: Edit) -> None:
    """Make one edit.

    ``text``: write a file. ``copy``: of another file. ``swap``: with another file. ``remove``: all
    whose names begin so. ``sha256``: put the digest of a file ``at`` a place. Of a folder only:
    ``link``, ``move``: to a path. ``pipe``. ``time``: in seconds. Others: see :func:`edited`.
    """
    name = edit["in"]
    if "*" in name:
        name = next(each for each in files if fnmatch(each, name))
    if "text" in edit:
        files[name] = edit["text"].encode()
    elif "swap" in edit:
        files[name], files[edit["swap"]] = files[edit["swap"]], files[name]
    elif "remove" in edit:
        gone = [each for each in files if each.startswith(name)]
        assert gone, name
        for each in gone:
            del files[each]
    elif isinstance(files, Below) and not {"at", "replace", "flip"} & edit.keys():
        _change_file(files.root, name, edit)
    elif "copy" in edit:
        files[name] = files[edit["copy"]]
    else:
        if "sha256" in edit:
            edit = edit | {"to": sha256(files[edit["sha256"]]).hexdigest()}
        files[name] = edited(files[name], edit, name)


def _change_file(root: Path, name: str, edit: Edit) -> None:
    """Do to a file or folder what a bundle has no room for."""
    path = root / name
    if "time" in edit:
        os.utime(path, (edit["time"], edit["time"]))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if "copy" in edit:
        shutil.copy(root / edit["copy"], path)
    elif "move" in edit:
        path.rename(root / edit["move"])
    else:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if "pipe" in edit:
            os.mkfifo(path)
        elif "link" in edit:
            path.symlink_to(root / edit["link"])


def edited(data: bytes, edit: Edit, name: str) -> bytes:
    """Return the content of a file after an edit.

    ``replace``: a pattern and the text for its first match, or for ``count`` ones, 0 for all.
    ``reverse``: the order of lines. ``flip``: a bit of this byte. ``at``: a place in JSON, at which
    ``to`` is put, an ``item`` is added, or what is there is removed; ``*`` is every item. A place
    in JSONL begins with the number of a line, one in a score may name a number.
    """
    if "replace" in edit:
        pattern, new = edit["replace"]
        count = edit.get("count", 1)
        text, found = re.subn(pattern, new, data.decode(), count=count)
        assert found, f"{pattern} is not in {name}"
        return text.encode()
    if "reverse" in edit:
        return b"".join(data.splitlines(keepends=True)[::-1])
    if "flip" in edit:
        content = bytearray(data)
        content[edit["flip"]] ^= 1
        return bytes(content)
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in data.splitlines()]
        _put(rows, edit)
        return "".join(f"{json.dumps(row, **_PARTS)}\n" for row in rows).encode()
    is_yaml = name.endswith((".yaml", ".lock"))
    value = yaml.safe_load(data) if is_yaml else json.loads(data)
    before = json.dumps(value, **_PARTS).encode()
    _put(value, edit)
    if is_yaml:
        return yaml.safe_dump(value).encode()
    if before == data:
        return json.dumps(value, **_PARTS).encode()
    return (
        json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False).encode() + b"\n"
    )


def _put(value: Any, edit: Edit) -> None:
    *above, last = edit["at"]
    holders = [value]
    for key in above:
        inner = []
        for holder in holders:
            if key == "*":
                inner += holder.values() if isinstance(holder, dict) else holder
            else:
                inner.append(below(holder, key))
        holders = inner
    for holder in holders:
        if "item" in edit:
            holder[last].append(edit["item"])
        elif "to" in edit:
            holder[last] = edit["to"]
        else:
            del holder[last]


def below(content: Any, key: str | int) -> Any:
    """Return what is at a key of a JSON value; in a score also a number, by its name."""
    if isinstance(key, str) and key not in content and "numbers" in content:
        # late, as acceptance tests import nothing of the package
        from tests.support.ledgers import number_in

        return number_in(content, key)
    return content[key]
