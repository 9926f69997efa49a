"""Components with torch weights: the bytes behind a name, their settings, loading and letting
go."""

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
"""With these, ``from_pretrained`` of transformers names in a report the weights that it fills with
random numbers."""

ADAPTER = "adapter_config.json"
"""Where a folder has one and peft is installed, transformers loads the base that it names, from
anywhere and at any commit, or changes the weights beside it."""

REMEMBERED = "sha256.db"
"""The file in the user's cache folder that keeps the SHA-256 of weights."""
CUDA_ERROR = "CUDA error"
"""In errors after which a process cannot use its device any more."""
_FULL = ("out of memory", "not enough memory", "can't allocate memory")
"""How libraries word a lack of memory, in errors that are no error of their own for it."""
_NOT_LOADED = (".md", ".txt.license", ".png", ".jpg", ".gitattributes")
"""Files that explain a checkpoint and are not part of it."""
_MOST_FILES = 10_000
"""Files and folders of a checkpoint: a few links can lead to any number."""


def _files(folder: Path) -> list[Path]:
    """List what a loader may read; like a loader, follow links to files and to folders.

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
    """Hex SHA-256 of a file's bytes; read again if its size, its inode, or the time it was written
    has changed.

    What is remembered lies in the user's cache folder, so that weights are read once and not at
    every stage. Where that cannot be read or written, the file is read each time.
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
    """Forget what is remembered: a check goes by the bytes alone."""
    with suppress(OSError):
        (user_cache_path("driftledger") / REMEMBERED).unlink(missing_ok=True)


def weights_of(source: Source) -> Json:
    """Return the commit, or the SHA-256 of every file that a loader may read."""
    folder, repository, commit = source
    if folder is None:
        return {"repository": repository, "commit": commit}
    files = {
        path.relative_to(folder).as_posix(): remembered_sha256(path)
        for path in _files(folder)
    }
    return {"files": len(files), "sha256": sha256_of(files)}


class CheckpointComponent(Component):
    """A component with weights in a local folder or on the Hugging Face hub, which run in torch.

    A provider says in ``libraries`` which distributions shape its output, and loads in
    :meth:`load`.
    """

    code_is_identity = False
    metered = True
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    extra: ClassVar[str] = "torch"
    """What of this package's extras installs them."""
    loud: ClassVar[tuple[str, ...]] = ()
    """The libraries that show no warnings and progress bars while it is loaded."""

    path: Operational[str] = Field(min_length=1)
    """A local folder, or an id on the hub; what is found there is in the identity."""
    revision: Operational[str | None] = None
    """For the hub only, and needed there: a commit, or a branch or tag, which is resolved to one.
    """
    dtype: DType = "float32"
    device: Operational[str] = Field(
        default="auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$"
    )
    """``auto`` takes CUDA, else Apple's MPS, else the CPU. The kind of device is part of the
    identity: name it where one checkout is used on several machines."""
    trust_remote_code: bool = False
    """Whether code from the checkpoint's repository may run; the environment must say so too."""
    allow_pickle: bool = False
    """Whether weights that are not safetensors may be loaded, which can run code."""

    @abstractmethod
    def load(self, source: Source) -> Any:
        """Load everything that a call needs, onto :attr:`torch_device`; kept until
        :meth:`release`."""

    @property
    def title(self) -> str:
        """The name in sentences: the folder or the hub repository."""
        return f"{self.path!r:.200}"

    @cached_property
    def source(self) -> Source:
        """The local folder or the hub repository.

        Raises:
            ConfigError: neither here nor on the hub, or a folder without files.
        """
        source = find_source(self.path, self.revision)
        if source.folder is not None and not _files(source.folder):
            raise ConfigError(
                f"{self.path!r} holds no files; put the checkpoint there, or correct path"
            )
        return source

    def weights(self) -> Json:
        """Return what :func:`weights_of` says of the checkpoint."""
        return weights_of(self.source)

    @cached_property
    def torch_device(self) -> str:
        """The device that it runs on, e.g. ``cuda:1``."""
        if self.device != "auto":
            return self.device
        torch = import_extra("torch")
        return (
            "cuda"
            if torch.cuda.is_available()
            else "mps"
            if torch.backends.mps.is_available()
            else "cpu"
        )

    @property
    def torch_dtype(self) -> Any:
        return getattr(import_extra("torch"), self.dtype)

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
        """The same for weights: only safetensors, unless the entry allows pickles."""
        safe = {} if self.allow_pickle else {"use_safetensors": True}
        return self.hub_arguments | {"dtype": self.torch_dtype} | safe

    def identity(self) -> Json:
        identity: Json = {
            "weights": self.weights(),
            "device": self.torch_device.partition(":")[0],
            "libraries": library_versions(*self.libraries, extra=self.extra),
        }
        reduced = self.dtype != "float32"
        if reduced and identity["device"] == "cuda":
            # cuDNN's gives other bytes
            identity["attention"] = "without cuDNN"
        return identity

    def readiness(self) -> Readiness:
        """Look for the libraries and the weights, and how much of these is still to be fetched onto
        which disk."""
        try:
            library_versions(*self.libraries, extra=self.extra)
            repository, commit = self.source[1:]
            notes = self.adapter_notes(fetches=False)
        except ConfigError as error:
            return [str(error)], []
        if repository is None:
            return [], notes
        hub = import_extra("huggingface_hub")
        cache = Path(import_extra("huggingface_hub.constants").HF_HUB_CACHE)
        with suppress(
            hub.errors.HTTPError, hub.errors.OfflineModeIsEnabled, OSError, ValueError
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
        """Return what to know of the adapters on it, where they are not what they seem.

        Args:
            fetches: whether those of the hub are looked at, too.

        Raises:
            ConfigError: one is neither here nor on the hub.
        """
        return []

    @property
    def mark(self) -> str | None:
        notes = []
        with suppress(ConfigError):  # all calls are stored, and it is not here
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
            with self.memory_guard():
                if self.source.has(ADAPTER):
                    raise adapter_refused(f"{self.path!r:.200}")
                backends = import_extra("torch").backends
                if self.dtype == "float32":
                    # which has the digits of float16
                    backends.cudnn.allow_tf32 = False
                # In half precision an H200 gave nearly all of 64 texts differently at the second
                # asking, and cuDNN plans anew for each length, in each thread: 16 answers in a new
                # one took 9.6 s, by PyTorch's other kernels 3.4. SDXL draws 4 % slower by these.
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

    @contextmanager
    def memory_guard(self) -> Iterator[None]:
        """Let a lack of memory, on a device or on the host, be an :class:`OutOfMemoryError`."""
        torch = import_extra("torch")
        try:
            yield
            return
        except (torch.OutOfMemoryError, MemoryError, RuntimeError, ValueError) as error:
            problem = for_line(str(error))
            if not isinstance(error, torch.OutOfMemoryError | MemoryError) and not any(
                words in problem for words in _FULL
            ):
                raise
        _free()  # after the exception: its traceback holds the tensors
        raise OutOfMemoryError(f"{self.path}: out of memory ({problem:.300})")

    def __getstate__(self) -> dict[Any, Any]:
        """Return what is sent to another process, which loads the weights itself."""
        state = super().__getstate__()
        state["__dict__"] = {**state["__dict__"]}
        state["__dict__"].pop("loaded", None)
        return state

    def release(self) -> None:
        if self.__dict__.pop("loaded", None) is not None:
            _free()


class ImageCheckpoint(CheckpointComponent):
    """A checkpoint of transformers that looks at images, through the image processor that comes
    with it."""

    image_backend: Literal["auto", "pil", "torchvision"] = "auto"
    """What resizes images; the two differ by about a grey level. ``auto`` is Pillow, with the same
    arithmetic on every processor, unless transformers handles the checkpoint's images with
    torchvision only."""

    @cached_property
    def backend(self) -> str:
        """The library behind :attr:`image_backend`: ``pil`` or ``torchvision``."""
        if self.image_backend != "auto":
            return self.image_backend
        # without torch
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
    """Read a JSON file of a checkpoint; empty if it cannot be read, which its loader refuses."""
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
    """Raise a :class:`ValueError` where a report of :data:`REPORTING` names random weights outside
    the part ``unused``."""
    random = {
        *report["missing_keys"],
        *(name for name, *_ in report["mismatched_keys"]),
    }
    if lacking := sorted(name for name in random if name.partition(".")[0] != unused):
        raise ValueError(
            f"its files lack the weights {first_few(lacking)}, or hold them in another shape"
        )


def bitsandbytes(library: Any, bits: Literal["8bit", "4bit"], dtype: Any) -> Any:
    """Return a ``quantization_config`` of transformers or diffusers, for LLM.int8 or NF4."""
    import_extra("bitsandbytes")
    four = (
        {"bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": dtype}
        if bits == "4bit"
        else {}
    )
    return library.BitsAndBytesConfig(**{f"load_in_{bits}": True}, **four)


@contextmanager
def quietly(*libraries: str) -> Iterator[None]:
    """Silence progress bars, and warnings about what is checked or recorded in another way."""
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
    """Return the text with a space inside whatever a tokenizer would take for a control token, as
    in ``< /s>``.

    A lone surrogate, which no tokenizer takes, becomes a question mark.
    """
    text = text.encode("utf-8", "replace").decode()
    return control.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def _free() -> None:
    torch = import_extra("torch")
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
