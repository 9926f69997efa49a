"""Datasets of the Hugging Face hub, and in its formats.

The library ``datasets`` loads these. Images stay undecoded, so that
:mod:`driftledger.data.datasets.decode` reads them like all others.
"""

import re
from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from driftledger.core.canonical import canonical_json, sha256_of
from driftledger.core.errors import (
    ConfigError,
    DataError,
    MissingSourceError,
    unknown_name,
)
from driftledger.core.paths import leads_out
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line, shortened
from driftledger.core.types import Split
from driftledger.data.datasets.base import (
    DatasetProvider,
    SourceItem,
    digest_files,
    printable,
)
from driftledger.data.datasets.pages import PagedProvider, file_and_page
from driftledger.data.tables import TableRow, as_text

_COMMIT = re.compile(r"[0-9a-f]{40}")


class Source(NamedTuple):
    """The place of a checkpoint or a dataset.

    It is ``folder`` here, or ``repository`` at ``commit`` on the Hugging Face hub.
    """

    folder: Path | None
    repository: str | None
    commit: str | None

    @property
    def location(self) -> str:
        """The first argument of ``from_pretrained``; :attr:`commit` is its ``revision``."""
        return str(self.folder or self.repository)

    def local(self, patterns: Sequence[str]) -> Path:
        """Return the folder, or fetch the files that match into the hub's cache.

        For libraries that take no commit: what they load is then what the identity names.

        Raises:
            MissingSourceError: they are neither here nor on the hub.
        """
        if self.folder is not None:
            return self.folder
        hub = import_extra("huggingface_hub")
        try:
            return Path(
                hub.snapshot_download(
                    self.repository, revision=self.commit, allow_patterns=[*patterns]
                )
            )
        except (hub.errors.HTTPError, hub.errors.LocalEntryNotFoundError) as error:
            raise MissingSourceError(
                f"{self.repository!r:.200} cannot be fetched: {for_line(str(error)):.300}"
            ) from None


def find_source(
    path: str, revision: str | None, kind: Literal["model", "dataset"] = "model"
) -> Source:
    """Find the folder ``path``, or the hub's repository of that name at a commit.

    A commit is used as it is. A branch or tag is resolved by the hub, or without a network by its
    local cache.

    Raises:
        MissingSourceError: neither a folder nor a repository that can be reached.
        ConfigError: a file, a folder with a revision, or a path that cannot be reached.
    """
    try:
        folder = Path(path).expanduser().absolute()
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"{path!r:.200} cannot be reached ({for_line(str(error)):.200}); correct path"
        ) from None
    if is_folder:
        if revision is not None:
            raise ConfigError(
                f"{path!r} is a folder here, which has no revision; remove revision or the folder"
            )
        return Source(folder, None, None)
    if revision is None:
        kind_of_error = ConfigError if folder.exists() else MissingSourceError
        raise kind_of_error(
            f"{path!r:.200} is not a folder here; correct path, or set revision if it "
            "is on the hub"
        )
    if _COMMIT.fullmatch(revision):
        return Source(None, path, revision)
    hub = import_extra("huggingface_hub")
    try:
        info = hub.HfApi().repo_info(path, revision=revision, repo_type=kind)
        return Source(None, path, str(info.sha))
    except (
        hub.errors.HTTPError,
        hub.errors.OfflineModeIsEnabled,
        OSError,
        ValueError,
    ) as error:
        with suppress(OSError, ValueError):
            cached = Path(
                hub.snapshot_download(
                    path, revision=revision, repo_type=kind, local_files_only=True
                )
            ).name
            if _COMMIT.fullmatch(cached):
                return Source(None, path, cached)
        raise MissingSourceError(
            f"{path!r:.200} at {revision!r:.100} is not a folder here and not reachable on the hub "
            f"({for_line(str(error)):.300}); correct path, revision or the network"
        ) from None


class HubTable(PagedProvider, ABC):
    """A split of a dataset, at a commit that is recorded.

    A branch or tag given as ``revision`` is resolved to its commit.
    """

    path: str = Field(min_length=1)
    """A local folder, or an id on the hub."""
    revision: str | None = None
    """For the hub only, and needed there: a commit, which also works offline once loaded, or a
    branch or tag."""
    name: str | None = None
    """Which configuration, where the dataset has several."""
    split: str = "test"

    @cached_property
    def _source(self) -> Source:
        return find_source(self.path, self.revision, "dataset")

    def source_digest(self) -> str:
        folder = self._source.folder
        if folder is None:
            return sha256_of([self.path, self._source.commit])
        files = []
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            is_hidden = any(part.startswith(".") for part in name.parts)
            if is_hidden or not path.is_file():
                continue
            if not self._may_read(path):
                raise DataError(
                    f"{name} in {self.path!r:.200} is a link out of that folder; remove it"
                )
            files.append((printable(name.as_posix()), path))
        return digest_files(files)

    def source(self) -> dict[str, str]:
        folder, repository, commit = self._source
        if folder:
            return {"kind": self.provider, "folder": printable(folder.name)}
        return {
            "kind": self.provider,
            "dataset": str(repository),
            "revision": str(commit),
        }

    def load(self, *splits: str) -> list[Any]:
        """Load all rows of each split, as objects of the library ``datasets``."""
        datasets = import_extra("datasets")
        (folder, _, commit) = self._source
        split = self.split
        http_error = import_extra("huggingface_hub.errors").HTTPError
        loaded = []
        try:
            if folder is None:
                builder = datasets.load_dataset_builder(
                    self.path, self.name, revision=commit
                )
                # without a network the library offers any revision that it has
                if builder.hash != commit:
                    raise DataError(
                        f"{self.path} at {commit} is not stored here; load it once with a network"
                    )
                builder.download_and_prepare()
            else:
                builder = datasets.load_dataset_builder(
                    str(folder.resolve()), self.name
                )
                # Prepare again: the library recognises what it has stored by the files' times, not
                # by their content.
                builder.download_and_prepare(download_mode="reuse_cache_if_exists")
            for split in splits:
                loaded.append(builder.as_dataset(split=split))
        except (
            datasets.exceptions.DatasetsError,
            http_error,
            OSError,
            ValueError,
            RuntimeError,
        ) as error:
            is_wrapped = isinstance(error, datasets.exceptions.DatasetGenerationError)
            reason = (
                shortened(str(error.__cause__ or error if is_wrapped else error))
                or type(error).__name__
            )
            raise DataError(
                f"{self.path}, split {split!r}, cannot be loaded ({reason}); correct its settings "
                "or the network"
            ) from None
        return loaded

    def rows(
        self,
        table: Any,
        split: str,
        files: str,
        columns: Iterable[str],
        setting: str,
        *,
        lists: bool = False,
    ) -> Iterator[TableRow]:
        """Read the rows of a split with these columns, class labels by name.

        Args:
            files: the column of images, which ``setting`` names; in a local folder it may
                hold the names of files and pages below it. A file is read when its row asks for it.
            lists: whether that column may hold lists; a row then reads a list of bytes.
        """
        names = [column for column in dict.fromkeys(columns) if column != files]
        for column in (files, *names):
            if column not in table.features:
                raise ConfigError(
                    unknown_name(f"{self.path}: column", column, table.features)
                )
        datasets = import_extra("datasets")
        feature = table.features[files]
        undecoded = datasets.Image(decode=False)
        is_list = lists and hasattr(feature, "feature")
        if is_list:
            feature = feature.feature
            undecoded = datasets.List(undecoded)
        folder = self._source.folder and self._source.folder.resolve()
        dtype = str(getattr(feature, "dtype", ""))
        is_named = "string" in dtype and folder is not None
        # in a column without any value, no cell has one
        has_images = isinstance(feature, datasets.Image)
        has_images |= "binary" in dtype or is_named or dtype == "null"
        # as pandas writes it
        has_images |= isinstance(feature, dict) and "bytes" in feature
        if not has_images:
            raise ConfigError(
                f"{self.path}: column {files!r} holds {_in_words(feature, datasets)}, and no "
                f"images; correct it, or set {setting}"
            )
        media = table.select_columns([files]).cast_column(files, undecoded)
        paths: list[Any] = []
        for chunk in media.data.column(files).chunks:
            paths += [None] * len(chunk) if is_list else chunk.field("path").to_pylist()
        texts = table.select_columns(names)
        labels = {}
        for column, values in texts.features.items():
            if hasattr(values, "names"):
                labels[column] = values.names
        for number, path in enumerate(paths):
            cells = texts[number] if names else {}
            file = None
            if path:
                name = Path(path)
                file = printable(name.name)
                if is_named:
                    file = self.recorded(printable(path))
                elif folder and name.is_relative_to(folder):
                    file = printable(name.relative_to(folder).as_posix())
            place = f"row {number} of {split}" + (f" ({file})" if file else "")
            for column, of_class in labels.items():
                value = cells[column]
                if value is None or value < 0:
                    continue
                if value >= len(of_class):
                    raise DataError(
                        f"{place} has class {value} in {column!r}, which has only "
                        f"{len(of_class)}; correct the dataset"
                    )
                cells[column] = of_class[value]
            yield TableRow(
                number,
                place,
                cells,
                file=file,
                read=partial(self._read, media, number, files, place),
            )

    def _read(self, media: Any, number: int, files: str, place: str) -> Any:
        """Return the bytes of the file in a row, or of each in a list."""
        cell = media[number][files]
        if isinstance(cell, list):
            return [self._bytes(each, place) for each in cell]
        return self._bytes(cell, place)

    def _bytes(self, cell: dict[str, Any] | None, place: str) -> bytes:
        """Return the bytes in a cell, or of the file that it names.

        A file elsewhere on this disk is refused.
        """
        cell = cell or {}
        data = cell.get("bytes")
        path = cell.get("path")
        if data is not None or not path:
            return data or b""
        name, page = file_and_page(path)
        file = Path(self._source.folder or "", name)
        if not self._may_read(file):
            raise DataError(
                f"{place} names a file outside the dataset, {path!r:.200}; remove the row"
            )
        return self.read_image(file, page, place)

    def _may_read(self, file: Path) -> bool:
        """Return True if a file is in the dataset's folder or in the library's.

        A table could name any file on this disk.
        """
        downloads = import_extra("datasets").config.DOWNLOADED_DATASETS_PATH
        hub = import_extra("huggingface_hub.constants").HF_HUB_CACHE
        folders = [Path(downloads), Path(hub)]
        if self._source.folder:
            folders.append(self._source.folder)
        return any(not leads_out(file, folder) for folder in folders)


def _in_words(feature: Any, datasets: Any) -> str:
    """Return what a column of the library holds."""
    if isinstance(feature, datasets.Image | datasets.Audio):
        return f"{type(feature).__name__.lower()}s"
    if isinstance(feature, dict):
        return f"objects of {', '.join(feature)}"
    if hasattr(feature, "feature"):
        return f"lists of {_in_words(feature.feature, datasets)}"
    return f"values of type {getattr(feature, 'dtype', feature)}"


class HuggingFace(HubTable, DatasetProvider):
    """One split of a dataset, or one as the test set and one as its support set.

    Ids are the numbers of rows.
    """

    support_split: str | None = Field(default=None, min_length=1)
    """The split that is the support set, where ``split`` is the test set; it needs a
    ``label_column``."""
    image_column: str = "image"
    category_column: str | None = None
    label_column: str | None = None
    unique_column: str | None = None
    """Only the first of the rows with one value here is taken, e.g. of two questions about each
    image."""

    def items(self) -> Iterator[SourceItem]:
        sets: dict[str, Split | None] = {self.split: None}
        if self.support_split is not None:
            if self.support_split == self.split:
                raise ConfigError(
                    "support_split is the test set itself; name another split"
                )
            if self.label_column is None:
                raise ConfigError("support_split needs a label_column; set it")
            sets = {self.support_split: "support", self.split: "test"}
        named = (self.category_column, self.label_column, self.unique_column)
        columns = [column for column in named if column is not None]

        def text(row: TableRow, column: str | None) -> str | None:
            if column is None:
                return None
            return as_text(row.cells[column], f"{row.place} in {column}")

        for loaded, (name, split) in zip(self.load(*sets), sets.items(), strict=True):
            digits = len(str(max(len(loaded) - 1, 0)))
            seen = set()
            rows = self.rows(loaded, name, self.image_column, columns, "image_column")
            for row in rows:
                if self.unique_column:
                    value = canonical_json(row.cells[self.unique_column])
                    if value in seen:
                        continue
                    seen.add(value)
                number = f"{row.number:0{digits}}"
                yield SourceItem(
                    id=f"{split}-{number}" if split else number,
                    name=row.place,
                    read=row.read,
                    category=text(row, self.category_column) or None,
                    label=text(row, self.label_column),
                    split=split,
                    source=row.source() | ({"split": name} if split else {}),
                )
