"""What components with torch weights have in common: their settings, their identity, loading and letting go."""

import gc
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import PackageNotFoundError
from typing import Any, ClassVar, Literal

from pydantic import Field

from driftledger.components.base import Component, Operational, library_versions
from driftledger.components.checkpoints.source import Source, find_source
from driftledger.core.errors import ConfigError, DriftledgerError, MissingExtraError, OutOfMemoryError
from driftledger.core.escaping import for_line
from driftledger.core.extras import import_extra

TRUST = "DRIFTLEDGER_TRUST_REMOTE_CODE"

DType = Literal["float32", "bfloat16", "float16"]

REPORTING: dict[str, Any] = {"output_loading_info": True, "ignore_mismatched_sizes": True}
"""With these, ``from_pretrained`` of transformers names in a report the weights that it fills with random numbers."""

ADAPTER = "adapter_config.json"
"""Where a folder has one and peft is installed, transformers loads the base that it names, from anywhere and at any
commit, or changes the weights beside it."""


class CheckpointComponent(Component):
    """A component whose weights stand in a local folder or on the Hugging Face hub, and run in torch.

    A provider says in ``libraries`` which distributions shape its output, and loads in :meth:`load`.
    """

    code_is_identity: ClassVar[bool] = False
    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    extra: ClassVar[str] = "torch"
    """What of this package's extras installs them."""

    path: Operational[str] = Field(min_length=1)
    """A local folder, or an id on the hub; what is found there is in the identity."""
    revision: Operational[str | None] = None
    """For the hub only, and needed there: a commit, or a branch or tag, which is resolved to one."""
    dtype: DType = "float32"
    device: Operational[str] = Field(default="auto", pattern=r"^(auto|cpu|mps|cuda(:\d+(,\d+)*)?)$")
    """``auto`` takes CUDA, else Apple's MPS, else the CPU. The kind of device is part of the identity: name it where
    one checkout is used on several machines. Of several, as in ``cuda:0,1``, collecting with Ray takes each
    for an actor, and everything else the first."""
    trust_remote_code: bool = False
    """Whether code from the checkpoint's repository may run; the environment must say so too."""
    allow_pickle: bool = False
    """Whether weights that are not safetensors may be loaded, which can run code."""

    @abstractmethod
    def load(self, source: Source) -> Any:
        """Load everything that a call needs, onto :attr:`torch_device`; kept until :meth:`release`."""

    @cached_property
    def source(self) -> Source:
        return find_source(self.path, self.revision)

    @property
    def devices(self) -> tuple[str, ...]:
        """All that the entry names: ``cuda:0`` and ``cuda:1`` for ``cuda:0,1``."""
        kind, _, numbers = self.device.partition(":")
        return tuple(f"{kind}:{number}" for number in numbers.split(",")) if numbers else (kind,)

    @cached_property
    def torch_device(self) -> str:
        """Where it runs, e.g. ``cuda:1``."""
        if self.device != "auto":
            return self.devices[0]
        torch = import_extra("torch")
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"

    @property
    def torch_dtype(self) -> Any:
        return getattr(import_extra("torch"), self.dtype)

    @property
    def hub_arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` of transformers and diffusers is given."""
        if self.trust_remote_code and os.environ.get(TRUST) != "1":
            raise ConfigError(
                f"{self.path!r:.200} asks to run code from its repository (trust_remote_code); allow it by {TRUST}=1"
            )
        return {"revision": self.source.commit, "trust_remote_code": self.trust_remote_code}

    @property
    def weight_arguments(self) -> dict[str, Any]:
        """The same for weights: only safetensors, unless the entry allows pickles."""
        return (
            self.hub_arguments | {"dtype": self.torch_dtype} | ({} if self.allow_pickle else {"use_safetensors": True})
        )

    def identity(self) -> dict[str, Any]:
        return {
            "weights": self.source.identity(),
            "device": self.torch_device.partition(":")[0],
            "libraries": self.versions_of(*self.libraries),
        }

    @property
    def unrepeatable(self) -> str | None:
        if self.dtype == "float32" or self.batch_size == 1:
            return None
        return f"in {self.dtype}, the company in its batches of {self.batch_size} changes what comes out"

    def versions_of(self, *libraries: str) -> dict[str, str]:
        """Distribution name → installed version.

        Raises:
            MissingExtraError: one is not installed.
        """
        try:
            return library_versions(*libraries)
        except PackageNotFoundError as error:
            raise MissingExtraError(
                f"the library {error.name!r} is not installed; run: pip install 'driftledger[{self.extra}]'"
            ) from None

    @cached_property
    def loaded(self) -> Any:
        """What :meth:`load` gave, loaded at the first use.

        Raises:
            ConfigError: the checkpoint cannot be loaded as the settings say.
            OutOfMemoryError: it does not fit.
        """
        with self._trouble_in_one_sentence(), memory_guard(self.path):
            if self.source.has(ADAPTER):
                raise adapter_refused(f"{self.path!r:.200}")
            if self.dtype == "float32":
                import_extra("torch").backends.cudnn.allow_tf32 = False  # which has the digits of float16
            return self.load(self.source)

    @contextmanager
    def _trouble_in_one_sentence(self) -> Iterator[None]:
        """Let whatever the libraries say about files that are missing, broken or of another shape be a sentence.

        They look at nothing before they use it, so that a damaged file can raise anything.
        """
        try:
            yield
        except DriftledgerError:
            raise
        except Exception as error:
            said = for_line(str(error))
            if not said or not isinstance(error, OSError | ValueError | ImportError | RuntimeError):
                said = f"{type(error).__name__}: {said}".removesuffix(": ")  # others' texts alone say too little
            raise ConfigError(f"{self.path!r:.200} cannot be loaded: {said:.400}") from None

    def release(self) -> None:
        if self.__dict__.pop("loaded", None) is not None:
            _free()


def adapter_refused(what: str) -> ConfigError:
    return ConfigError(
        f"{what} is an adapter of peft ({ADAPTER}), and its base is in no fingerprint; merge it into its base first "
        "(merge_and_unload), and use what comes out"
    )


def lacking_weights(report: Mapping[str, Any], unused: str | None = None) -> list[str]:
    """The weights that a report of :data:`REPORTING` says are random, other than of the part ``unused``."""
    random = {*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])}
    return sorted(name for name in random if name.partition(".")[0] != unused)


@contextmanager
def quietly(*libraries: str) -> Iterator[None]:
    """Without progress bars, and without warnings of what is checked or told in another way.

    Args:
        libraries: those that log as transformers does, which is meant where none is named.
    """
    loggings = [import_extra(library).utils.logging for library in libraries or ("transformers",)]
    before = [(logging, logging.get_verbosity(), logging.is_progress_bar_enabled()) for logging in loggings]
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


@contextmanager
def memory_guard(what: str) -> Iterator[None]:
    """Let running out of memory, on a device or on the host, be an :class:`OutOfMemoryError`."""
    torch = import_extra("torch")
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        full: Exception = error
    except RuntimeError as error:
        if "not enough memory" not in str(error) and "can't allocate memory" not in str(error):
            raise
        full = error
    else:
        return
    message = f"{what}: out of memory ({for_line(str(full)):.200})"
    del full  # its traceback holds the tensors
    _free()
    raise OutOfMemoryError(message)


def _free() -> None:
    torch = import_extra("torch")
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
