"""A checkpoint that carries a ``model.sig`` is known by who signed it, or not used at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.components.checkpoints import source as module
from driftledger.components.checkpoints.signature import IDENTITY, ISSUER, KEY, SIGNATURE
from driftledger.components.checkpoints.source import find_source
from driftledger.core import extras
from driftledger.core.errors import ConfigError, MissingExtraError


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    for name in (KEY, IDENTITY, ISSUER):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tiny"
    (made / "unet").mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (made / "unet" / "model.safetensors").write_bytes(b"weights")
    return made


@pytest.fixture
def sign(folder: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Sign the folder by a key of that name; the file of the public key."""
    pytest.importorskip("OpenSSL")
    signing = pytest.importorskip("model_signing")
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import ec

    def sign(name: str) -> Path:
        secret, public = tmp_path / f"{name}.pem", tmp_path / f"{name}.pub"
        if not secret.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            pem = forms.Encoding.PEM
            secret.write_bytes(key.private_bytes(pem, forms.PrivateFormat.PKCS8, forms.NoEncryption()))
            public.write_bytes(key.public_key().public_bytes(pem, forms.PublicFormat.SubjectPublicKeyInfo))
        (folder / SIGNATURE).unlink(missing_ok=True)
        signing.signing.Config().use_elliptic_key_signer(private_key=secret).sign(folder, folder / SIGNATURE)
        return public

    return sign


def identity(folder: Path) -> dict[str, object]:
    return find_source(str(folder), None).identity()


def test_who_signed_is_part_of_what_the_weights_are(
    folder: Path, sign: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    unsigned = identity(folder)
    monkeypatch.setenv(KEY, str(sign("ann")))
    signed = identity(folder)
    assert signed == unsigned | {"signed_by": signed["signed_by"]}
    sign("ann")  # again, which gives another signature over the same files
    assert identity(folder) == signed
    monkeypatch.setenv(KEY, str(sign("bob")))
    assert identity(folder)["signed_by"] != signed["signed_by"]


def test_a_signature_of_another_key_is_refused(
    folder: Path, sign: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sign("bob")
    sign("ann")
    monkeypatch.setenv(KEY, str(other))
    with pytest.raises(ConfigError, match=r"model\.sig does not hold"):
        identity(folder)


@pytest.mark.parametrize("change", ["unet/model.safetensors", "more.json"])
def test_files_that_are_not_the_signed_ones_are_refused(
    folder: Path, sign: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv(KEY, str(sign("ann")))
    (folder / change).write_bytes(b"WEIGHTS")
    with pytest.raises(ConfigError, match=change.rpartition("/")[2]):
        identity(folder)


@pytest.mark.parametrize("broken", [b"", b"{}", b"[]", b"\xff", b'{"verificationMaterial": 1}'])
def test_what_is_no_signature_is_refused(
    folder: Path, sign: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, broken: bytes
) -> None:
    monkeypatch.setenv(KEY, str(sign("ann")))
    (folder / SIGNATURE).write_bytes(broken)
    with pytest.raises(ConfigError, match=r"model\.sig does not hold"):
        identity(folder)


def test_a_signature_that_nobody_is_named_for_is_not_passed_over(folder: Path, sign: Callable[[str], Path]) -> None:
    sign("ann")
    with pytest.raises(ConfigError, match=f"set {KEY}"):
        identity(folder)


@pytest.mark.parametrize("content", [None, b"no key"])
def test_what_is_no_key_is_told(
    folder: Path,
    sign: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: bytes | None,
) -> None:
    sign("ann")
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv(KEY, str(file))
    with pytest.raises(ConfigError, match="is no public key"):
        identity(folder)


def test_without_the_library_a_signature_is_not_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(name=name)

    (folder / SIGNATURE).write_text("{}")
    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"driftledger\[signing\]"):
        identity(folder)
