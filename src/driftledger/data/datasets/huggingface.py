"""An image dataset of the Hugging Face hub, or a local folder in one of its formats, as a dataset.

The library ``datasets`` finds and loads the rows; the images' bytes are taken undecoded, so that the rules of
:mod:`driftledger.data.datasets.decode` hold for them too.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from driftledger.core.canonical import canonical_json, sha256_of
from driftledger.core.errors import ConfigError, DataError, unknown_name
from driftledger.core.extras import import_extra
from driftledger.core.types import Split
from driftledger.data.datasets.base import SourceItem, digest_files, read_file
from driftledger.data.datasets.image_folder import printable
from driftledger.data.datasets.sampling import SampledProvider

_COMMIT = re.compile(r"[0-9a-f]{40}")


class HuggingFace(SampledProvider):
    """One split of a dataset, or one to ask about and one as its support set.

    A branch or tag given as ``revision`` is resolved to its commit, which is recorded.
    """

    provider: ClassVar[str] = "huggingface"

    path: str = Field(min_length=1)
    """A local folder, or an id on the hub."""
    revision: str | None = None
    """For the hub only, and needed there: a commit, which also works offline once loaded, or a branch or tag."""
    name: str | None = None
    """Which configuration, where the dataset has several."""
    split: str = "test"
    support_split: str | None = Field(default=None, min_length=1)
    """The split that is the support set, where ``split`` is the test set; it needs a ``label_column``."""
    image_column: str = "image"
    id_column: str | None = None
    """Without it a sample's id is the number of its row."""
    category_column: str | None = None
    label_column: str | None = None
    unique_column: str | None = None
    """Of rows with the same value here only the first is taken, e.g. of two questions about each image."""
    limit: int | None = Field(default=None, ge=1)
    """How many rows of each split are taken, from the first on."""

    @model_validator(mode="after")
    def _support_fits(self) -> Self:
        if self.support_split is None and self.is_sampled:
            raise ValueError("support_per_label and test_per_label need support_split; set it")
        if self.support_split is not None and self.label_column is None:
            raise ValueError("support_split needs label_column; set it")
        if self.support_split == self.split:
            raise ValueError(f"support_split is the test set, {self.split!r}, itself; name another split")
        return self

    def items(self) -> Iterator[SourceItem]:
        if self.support_split is None:
            yield from self._items(self.load(), self.split, None)
            return
        support, test = self._load(self.support_split, self.split)
        yield from self._items(support, self.support_split, "support")
        yield from self._items(test, self.split, "test")

    def _items(self, loaded: Any, of: str, split: Split | None) -> Iterator[SourceItem]:
        columns = (self.id_column, self.category_column, self.label_column, self.unique_column)
        rows = self.select(loaded, [column for column in columns if column is not None])
        digits = len(str(max(len(rows) - 1, 0)))  # of all rows, so that another limit does not rename samples
        taken = self._taken(rows, split)
        prefix, more = (f"{split}-", {"split": of}) if split else ("", {})
        for number, row in zip(taken, rows.select(taken), strict=True):
            place = f"row {number} of {of}"
            image = row[self.image_column] or {}
            file = self.file_name(image.get("path"))
            name = f"{place} ({file})" if file else place
            named = partial(cell_text, row, rows.features, name)
            yield SourceItem(
                id=prefix + (f"{number:0{digits}}" if self.id_column is None else named(self.id_column) or ""),
                name=name,
                read=partial(self.image_bytes, image, name),
                category=named(self.category_column) or None,
                label=named(self.label_column),
                split=split,
                source={"row": str(number)} | more | ({"file": file} if file else {}),
            )

    def _taken(self, rows: Any, split: Split | None) -> list[int]:
        """The numbers of the rows that become samples, for which nothing but columns of text and numbers is read."""
        found = self._first_rows(rows)[: self.limit]
        if split is None or not self.is_sampled:
            return found
        labels = rows.select(found).select_columns([self.label_column])[self.label_column]
        return sorted(self.kept(split, zip(found, map(str, labels), strict=True)))

    def _first_rows(self, rows: Any) -> list[int]:
        if self.unique_column is None:
            return list(range(len(rows)))
        first: dict[str, int] = {}
        for number, value in enumerate(rows[self.unique_column]):
            first.setdefault(canonical_json(value), number)
        return list(first.values())

    def source_digest(self) -> str:
        folder = self._folder
        if folder is None:
            return sha256_of([self.path, self._commit])
        found = sorted((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_file())
        shown = ((name, path) for name, path in found if not any(part.startswith(".") for part in name.parts))
        return digest_files((printable(name.as_posix()), path) for name, path in shown)

    def source(self) -> dict[str, str]:
        folder = self._folder
        if folder is None:
            return {"kind": self.provider, "dataset": self.path, "revision": self._commit}
        return {"kind": self.provider, "folder": printable(folder.name)}

    @property
    def _folder(self) -> Path | None:
        """The local folder, or None where ``path`` is an id on the hub."""
        try:
            folder = Path(self.path).expanduser().absolute()
            is_folder = folder.is_dir()
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"the path {self.path!r:.200} cannot be reached ({error!s:.200}); mend path") from None
        if not is_folder:
            if self.revision is None:
                raise ConfigError(
                    f"{self.path!r:.200} is no folder here; mend path, or set revision if it is a dataset of the hub"
                )
            return None
        if self.revision is not None:
            raise ConfigError(f"{self.path!r} is a folder here, which has no revision; remove revision or the folder")
        return folder

    @cached_property
    def _commit(self) -> str:
        if self.revision is None or _COMMIT.fullmatch(self.revision):
            return self.revision or ""
        with self._trouble_in_one_sentence(self.split):
            import_extra("datasets")
            info = import_extra("huggingface_hub").HfApi().dataset_info(self.path, revision=self.revision)
            return str(info.sha)

    def load(self) -> Any:
        """All rows of the split, as the library has them.

        Raises:
            ConfigError: ``path`` and ``revision`` do not go together.
            DataError: the library cannot load them.
        """
        (rows,) = self._load(self.split)
        return rows

    def _load(self, *splits: str) -> list[Any]:
        datasets = import_extra("datasets")
        folder = self._folder
        with self._trouble_in_one_sentence(self.split):
            if folder is None:
                builder = datasets.load_dataset_builder(self.path, self.name, revision=self._commit)
                if builder.hash != self._commit:  # without a network the library offers any revision it has
                    raise DataError(f"{self.path} at {self._commit} is not stored here; load it once with a network")
                builder.download_and_prepare()
            else:
                builder = datasets.load_dataset_builder(str(folder.resolve()), self.name)
                # Prepare anew: what the library has stored it recognises by the files' times, not by their content.
                builder.download_and_prepare(download_mode="reuse_cache_if_exists")
        loaded = []
        for split in splits:
            with self._trouble_in_one_sentence(split):
                loaded.append(builder.as_dataset(split=split))
        return loaded

    def select(self, rows: Any, columns: Iterable[str], setting: str = "image_column") -> Any:
        """Of ``rows`` the column of images, undecoded, and these columns; ``setting`` is what names the images.

        Raises:
            ConfigError: there is no such column, or no image in the column of images.
        """
        needed = list(dict.fromkeys([self.image_column, *columns]))
        for column in needed:
            if column not in rows.features:
                raise ConfigError(unknown_name(f"{self.path}: column", column, rows.features))
        image = import_extra("datasets").Image
        feature = rows.features[self.image_column]
        if not isinstance(feature, image) and getattr(feature, "dtype", None) not in ("binary", "large_binary"):
            raise ConfigError(f"{self.path}: column {self.image_column!r} holds no images; set {setting}")
        return rows.select_columns(needed).cast_column(self.image_column, image(decode=False))

    def file_name(self, path: str | None) -> str | None:
        """The image's file name as it is recorded: below the local folder, or without folders."""
        if not path:
            return None
        file, folder = Path(path), self._folder
        if folder is not None and file.is_relative_to(folder.resolve()):
            return printable(file.relative_to(folder.resolve()).as_posix())
        return printable(file.name)

    def image_bytes(self, image: dict[str, Any], name: str) -> bytes:
        """The image file's bytes, from its cell in the row called ``name``; never of a file elsewhere on this disk.

        Raises:
            DataError: the row names such a file, or one that cannot be read.
        """
        data: bytes | None = image.get("bytes")
        path: str | None = image.get("path")
        if data is not None or not path:
            return data or b""
        if not self._is_inside(Path(path)):
            raise DataError(
                f"{name} names a file outside the dataset, {path!r:.200}; remove the row or store the image"
            )
        return read_file(Path(path), name)

    def _is_inside(self, file: Path) -> bool:
        """Whether a row may name ``file``: a table could name any image on this disk."""
        folder = self._folder
        if folder is not None and ".." not in file.parts and file.is_relative_to(folder.resolve()):
            return True
        downloads = import_extra("datasets").config.DOWNLOADED_DATASETS_PATH
        hub = import_extra("huggingface_hub.constants").HF_HUB_CACHE
        return any(file.resolve().is_relative_to(Path(cache).resolve()) for cache in (downloads, hub))

    @contextmanager
    def _trouble_in_one_sentence(self, split: str) -> Iterator[None]:
        datasets = import_extra("datasets")
        http_error = import_extra("huggingface_hub.errors").HTTPError
        try:
            yield
        except (datasets.exceptions.DatasetsError, http_error, OSError, ValueError, RuntimeError) as error:
            wrapped = isinstance(error, datasets.exceptions.DatasetGenerationError)
            reason = error.__cause__ if wrapped and error.__cause__ else error
            said = " ".join(str(reason).split()) or type(reason).__name__
            raise DataError(
                f"{self.path}, split {split!r}, cannot be loaded ({said:.300}); mend its settings or the network"
            ) from None


def cell_text(row: dict[str, Any], features: Any, name: str, column: str | None) -> str | None:
    """A cell as text; a class label as its name."""
    value = None if column is None else row[column]
    if value is None:
        return None
    classes = getattr(features[column], "names", None)
    if classes is None or value < 0:
        return str(value)
    if value >= len(classes):
        raise DataError(f"{name} has class {value} in {column!r}, which has only {len(classes)}; mend the dataset")
    return str(classes[value])
