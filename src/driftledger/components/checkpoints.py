"""The base of components with torch weights."""

import gc
import os
import re
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from platformdirs import user_cache_path
from pydantic import Field

from driftledger.components.base import (
    Component,
    Operational,
    Readiness,
    library_versions,
)
from driftledger.core.canonical import Json, sha256_file, sha256_of
from driftledger.core.errors import (
    ComponentError,
    ConfigError,
    DriftledgerError,
    OutOfMemoryError,
    first_few,
)
from driftledger.core.files import free_space, load_json, read_regular
from driftledger.core.paths import walk
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.data.hub import Source, find_source

TRUST = "DRIFTLEDGER_TRUST_REMOTE_CODE"

DType = Literal["float32", "bfloat16", "float16"]

REPORTING: dict[str, Any] = {
    "output_loading_info": True,
    "ignore_mismatched_sizes": True,
}
"""Arguments with which ``from_pretrained`` of transformers reports which weights it filled with
random numbers."""

ADAPTER = "adapter_config.json"
"""The file that makes a folder an adapter. If peft is installed, transformers loads the base that
it names, from anywhere and at any commit, or changes the weights in the same folder."""

REMEMBERED = "sha256.db"
"""The file in the user's cache folder that keeps the SHA-256 of weights."""
CUDA_ERROR = "CUDA error"
"""Part of errors after which a process cannot use its device any more."""
_FULL = ("out of memory", "not enough memory", "can't allocate memory")
"""Words of errors about a lack of memory that have no class of their own."""
_NOT_LOADED = (".md", ".txt.license", ".png", ".jpg", ".gitattributes")
"""Endings of files that explain a checkpoint and are no part of it."""
_MOST_FILES = 10_000
"""The most files and folders of a checkpoint: a few links can lead to any number."""


def _files(folder: Path) -> list[Path]:
    """List the files that a loader may read, following links as a loader does.

    Raises:
        ConfigError: a link leads to a folder above itself, or there are too many files.
    """
    paths = []
    places = walk(folder, ConfigError, twice=True)
    for number, (place, _, names) in enumerate(places):
        paths += [place / name for name in names if not name.endswith(_NOT_LOADED)]
        if number + len(paths) > _MOST_FILES:
            raise ConfigError(
                f"{folder} holds over {_MOST_FILES:,} files and folders, its own or by links, as "
                "no checkpoint does; name the folder of its weights"
            )
    return sorted(path for path in paths if path.is_file())


def remembered_sha256(file: Path) -> str:
    """Return the hex SHA-256 of a file, and remember it until the file changes.

    A change is another size, inode or time of writing. Digests are kept in the user's cache folder,
    so that weights are not read at every stage. If it cannot be used, the file is read each time.
    """
    path = file.resolve()
    state = path.stat()
    seen = (
        str(path),
        f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}",
    )
    with suppress(OSError, sqlite3.Error):
        database = user_cache_path("driftledger") / REMEMBERED
        database.parent.mkdir(parents=True, exist_ok=True)
        with closing(
            sqlite3.connect(database, timeout=60, isolation_level=None)
        ) as memory:
            memory.execute(
                "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, state TEXT, sha256 TEXT)"
            )
            row = memory.execute(
                "SELECT sha256 FROM files WHERE path = ? AND state = ?", seen
            ).fetchone()
            digest = str(row[0]) if row else sha256_file(path)
            if not row:
                memory.execute("REPLACE INTO files VALUES (?, ?, ?)", (*seen, digest))
            return digest
    return sha256_file(path)


def forget_sha256() -> None:
    """Forget all remembered digests, so that a check reads the files."""
    with suppress(OSError):
        (user_cache_path("driftledger") / REMEMBERED).unlink(missing_ok=True)


def weights_of(source: Source) -> Json:
    """Return the commit of a repository, or a digest of all files of a folder."""
    folder, repository, commit = source
    if folder is None:
        return {"repository": repository, "commit": commit}
    files = {
        path.relative_to(folder).as_posix(): remembered_sha256(path)
        for path in _files(folder)
    }
    return {"files": len(files), "sha256": sha256_of(files)}


class CheckpointComponent(Component):
    """A component whose weights, in a local folder or on the Hugging Face hub, run in torch.

    A provider names the distributions that shape its output in ``libraries``.
    """

    code_is_identity = False
    metered = True
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    extra: ClassVar[str] = "torch"
    """The extra of this package that installs them."""
    loud: ClassVar[tuple[str, ...]] = ()
    """The libraries whose warnings and progress bars are hidden while it is loaded."""

    path: Operational[str] = Field(min_length=1)
    """A local folder, or an id on the hub; the weights there are in the identity."""
    revision: Operational[str | None] = None
    """A commit, branch or tag; needed for the hub, and only there."""
    dtype: DType = "float32"
    device: Operational[str] = Field(
        default="auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$"
    )
    """``auto`` takes CUDA, else Apple's MPS, else the CPU. The kind of device is part of the
    identity: name it if several machines use one checkout."""
    trust_remote_code: bool = False
    """Whether code from the checkpoint's repository may run; :data:`TRUST` must allow it too."""
    allow_pickle: bool = False
    """Whether weights that are not safetensors may be loaded, which can run code."""

    @abstractmethod
    def load(self, source: Source) -> Any:
        """Load everything that a call needs onto :attr:`torch_device`."""

    @property
    def title(self) -> str:
        """The name in messages: the folder or the hub repository."""
        return f"{self.path!r:.200}"

    @cached_property
    def source(self) -> Source:
        """The local folder or the hub repository.

        Raises:
            ConfigError: it is neither here nor on the hub, or is a folder without files.
        """
        source = find_source(self.path, self.revision)
        if source.folder is not None and not _files(source.folder):
            raise ConfigError(
                f"{self.path!r} holds no files; put the checkpoint there, or correct path"
            )
        return source

    def weights(self) -> Json:
        """Return what identifies the weights, as :func:`weights_of` does."""
        return weights_of(self.source)

    @cached_property
    def torch_device(self) -> str:
        """The device that it runs on, e.g. ``cuda:1``."""
        if self.device != "auto":
            return self.device
        torch = import_extra("torch")
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"

    @property
    def hub_arguments(self) -> dict[str, Any]:
        """The arguments of every ``from_pretrained`` of transformers and diffusers."""
        if self.trust_remote_code and os.environ.get(TRUST) != "1":
            raise ConfigError(
                f"{self.title} asks to run code from its repository (trust_remote_code); allow it "
                f"by {TRUST}=1"
            )
        return {
            "revision": self.source.commit,
            "trust_remote_code": self.trust_remote_code,
        }

    @property
    def weight_arguments(self) -> dict[str, Any]:
        """The arguments for weights: only safetensors, unless the entry allows pickles."""
        safe = {} if self.allow_pickle else {"use_safetensors": True}
        return self.hub_arguments | {"dtype": torch_dtype(self.dtype)} | safe

    def identity(self) -> Json:
        identity: Json = {
            "weights": self.weights(),
            "device": self.torch_device.partition(":")[0],
            "libraries": library_versions(*self.libraries, extra=self.extra),
        }
        reduced = self.dtype != "float32"
        if reduced and identity["device"] == "cuda":
            # cuDNN's attention gives other bytes
            identity["attention"] = "without cuDNN"
        return identity

    def readiness(self) -> Readiness:
        """Look for libraries and weights, and at the size of what is still to be fetched."""
        try:
            library_versions(*self.libraries, extra=self.extra)
            repository, commit = self.source[1:]
            notes = self.adapter_notes(fetches=False)
        except ConfigError as error:
            return [str(error)], []
        if repository is None:
            return [], notes
        hub = import_extra("huggingface_hub")
        errors = import_extra("huggingface_hub.errors")  # not yet loaded with the hub
        cache = Path(import_extra("huggingface_hub.constants").HF_HUB_CACHE)
        with suppress(
            errors.HTTPError, errors.OfflineModeIsEnabled, OSError, ValueError
        ):
            patterns = {
                "allow_patterns": ["*.safetensors"],
                "ignore_patterns": ["*.fp16.*", "*onnx*", "*openvino*"],
            }
            files = hub.snapshot_download(
                repository, revision=commit, dry_run=True, **patterns
            )
            size = sum(each.file_size for each in files if each.will_download) / 1e9
            free = free_space(cache) / 1e9
            if size:
                notes.append(
                    f"{self.path}: up to {size:,.1f} GB to fetch into {cache}, where {free:,.0f} "
                    "GB are free"
                )
        return [], notes

    def adapter_notes(self, *, fetches: bool) -> list[str]:
        """Return a note on each adapter that is not what it seems.

        Args:
            fetches: whether to fetch adapters of the hub, too; else they are skipped.

        Raises:
            ConfigError: one is neither here nor on the hub.
        """
        return []

    @property
    def mark(self) -> str | None:
        notes = []
        with suppress(ConfigError):  # all calls may be stored, and the adapter not here
            notes = self.adapter_notes(fetches=True)
        return "; ".join(filter(None, [self.knows, *notes])) or None

    @property
    def unrepeatable(self) -> str | None:
        # not every provider can shrink weights
        precision = getattr(self, "quantization", None) or self.dtype
        if precision == "float32" or self.batch_size == 1:
            return None
        return (
            f"in {precision}, the company in its batches of {self.batch_size} changes what comes "
            "out"
        )

    @cached_property
    def loaded(self) -> Any:
        """The result of :meth:`load`, loaded at the first use.

        Raises:
            ConfigError: the checkpoint cannot be loaded as the settings say.
            ComponentError: the device cannot be used any more.
            OutOfMemoryError: it does not fit.
        """
        try:
            with memory_guard(self.path):
                if (self.source.local([ADAPTER]) / ADAPTER).is_file():
                    raise adapter_refused(f"{self.path!r:.200}")
                backends = import_extra("torch").backends
                if self.dtype == "float32":
                    # TF32 has only the digits of float16
                    backends.cudnn.allow_tf32 = False
                # With cuDNN's attention in half precision, an H200 gave nearly all of 64 texts
                # differently when asked again. It also plans for each length in each thread: 16
                # answers in a new thread took 9.6 s, and 3.4 s by PyTorch's other kernels. SDXL
                # draws 4 % slower by these.
                backends.cuda.enable_cudnn_sdp(False)
                with quietly(*self.loud):
                    return self.load(self.source)
        except DriftledgerError:
            raise
        except Exception as error:
            # libraries check nothing before they use it: a damaged file can raise anything
            problem = for_line(str(error))
            kind = ComponentError if CUDA_ERROR in problem else ConfigError
            if not problem or not isinstance(
                error, OSError | ValueError | ImportError | RuntimeError
            ):
                # others' texts alone say too little
                problem = f"{type(error).__name__}: {problem}".removesuffix(": ")
            raise kind(f"{self.title} cannot be loaded: {problem:.400}") from None

    def __getstate__(self) -> dict[Any, Any]:
        """Leave the weights out of what is sent to another process, which loads them itself."""
        state = super().__getstate__()
        state["__dict__"] = {**state["__dict__"]}
        state["__dict__"].pop("loaded", None)
        return state

    def release(self) -> None:
        if self.__dict__.pop("loaded", None) is not None:
            _free()


@contextmanager
def memory_guard(name: str) -> Iterator[None]:
    """Raise :class:`OutOfMemoryError` when the memory of a device or of the host runs out."""
    torch = import_extra("torch")
    try:
        yield
        return
    except (torch.OutOfMemoryError, MemoryError, RuntimeError, ValueError) as error:
        problem = for_line(str(error))
        is_full = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not is_full and not any(words in problem for words in _FULL):
            raise
    _free()  # after the exception: its traceback holds the tensors
    raise OutOfMemoryError(f"{name}: out of memory ({problem:.300})")


def torch_dtype(name: DType) -> Any:
    return getattr(import_extra("torch"), name)


class ImageCheckpoint(CheckpointComponent):
    """A checkpoint of transformers that looks at images through its own image processor."""

    image_backend: Literal["auto", "pil", "torchvision"] = "auto"
    """The library that resizes images; the two differ by about a grey level. ``auto`` is Pillow,
    with the same arithmetic on every processor, unless transformers has only torchvision for the
    checkpoint's images."""

    @cached_property
    def backend(self) -> str:
        """The library behind :attr:`image_backend`: ``pil`` or ``torchvision``."""
        if self.image_backend != "auto":
            return self.image_backend
        # a module that does not import torch
        kinds = import_extra(
            "transformers.models.auto.auto_mappings"
        ).IMAGE_PROCESSOR_MAPPING_NAMES
        names = ("processor_config.json", "preprocessor_config.json", "config.json")
        folder = self.source.local(names)
        content: Json = {}
        for name in reversed(names):
            content |= read_config(folder / name)
        content |= content.get("image_processor") or {}
        kind = str(content.get("image_processor_type")).removesuffix("Fast")
        if "image_processor_type" not in content:
            kind = kinds.get(content.get("model_type"), {}).get("torchvision")
        torchvision_only = {
            each["torchvision"] for each in kinds.values() if "pil" not in each
        }
        return "torchvision" if kind in torchvision_only else "pil"

    @cached_property
    def spec(self) -> Json:
        spec = super().spec
        return spec | {"settings": spec["settings"] | {"image_backend": self.backend}}

    def identity(self) -> Json:
        identity = super().identity()
        library = "pillow" if self.backend == "pil" else self.backend
        return identity | {
            "libraries": identity["libraries"]
            | library_versions(library, extra=self.extra)
        }


def read_config(file: Path) -> Mapping[str, Any]:
    """Read a JSON file of a checkpoint; empty if it cannot be read, since its loader says so."""
    with suppress(OSError, ValueError):
        return dict(load_json(read_regular(file)))
    return {}


def adapter_refused(what: str) -> ConfigError:
    return ConfigError(
        f"{what} is an adapter of peft ({ADAPTER}), and its base is in no fingerprint; merge it "
        "into its base first (merge_and_unload), or, for a model, set path to its base and adapter "
        "to this"
    )


def refuse_random(report: Mapping[str, Any], unused: str | None = None) -> None:
    """Raise :class:`ValueError` if a report of :data:`REPORTING` names random weights.

    Args:
        unused: a part of the model that is not used, so that its weights may be random.
    """
    random = {*report["missing_keys"]}
    random.update(name for name, *_ in report["mismatched_keys"])
    lacking = sorted(name for name in random if name.partition(".")[0] != unused)
    if lacking:
        raise ValueError(
            f"its files lack the weights {first_few(lacking)}, or hold them in another shape"
        )


def bitsandbytes(library: Any, bits: Literal["8bit", "4bit"], dtype: Any) -> Any:
    """Return a ``quantization_config`` of transformers or diffusers, for LLM.int8 or NF4."""
    import_extra("bitsandbytes")
    if bits == "8bit":
        return library.BitsAndBytesConfig(load_in_8bit=True)
    return library.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
    )


@contextmanager
def quietly(*libraries: str) -> Iterator[None]:
    """Hide progress bars, and warnings about what driftledger checks or records itself."""
    loggings = [import_extra(library).utils.logging for library in libraries]
    before = [
        (logging, logging.get_verbosity(), logging.is_progress_bar_enabled())
        for logging in loggings
    ]
    for logging in loggings:
        logging.set_verbosity_error()
        logging.disable_progress_bar()
    try:
        yield
    finally:
        for logging, verbosity, bars in before:
            logging.set_verbosity(verbosity)
            if bars:
                logging.enable_progress_bar()


def disarmed(text: str, control: re.Pattern[str]) -> str:
    """Return the text with a space inside each control token, as in ``< /s>``.

    A lone surrogate, which no tokenizer takes, becomes a question mark.
    """
    text = text.encode("utf-8", "replace").decode()
    return control.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def _free() -> None:
    torch = import_extra("torch")
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
