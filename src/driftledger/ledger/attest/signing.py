"""Signing with the key that the user signs commits with, and whom a reader trusts to sign.

A signature is made in the user's own checkout, whose Git configuration says which key; ssh-keygen finds it in a file,
an agent or a hardware key. Whom a reader trusts is the reader's to say: no configuration of a checkout is asked.
"""

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pygit2

from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.shortening import shortened
from driftledger.ledger.code import git_setting
from driftledger_check.dsse import NAMESPACE, CannotVerify, Envelope, Signed, unarmored, verify_ssh

_SECONDS = 300
"""For a passphrase, or for a hardware key to be touched."""
_HOW = "or publish without a signature by --unsigned"


def signing_key(root: Path) -> str:
    """Git's ``user.signingkey``: the path of a key, or a public key as it stands.

    Raises:
        LedgerError: Git signs with no key of SSH here.
    """
    key = git_setting(root, "user.signingkey", kind="path")
    if git_setting(root, "gpg.format") != "ssh" or not key:
        raise LedgerError(
            "Git names no SSH key to sign with; run 'git config --global gpg.format ssh' and 'git config --global "
            f"user.signingkey ~/.ssh/id_ed25519.pub' with your key, {_HOW}"
        )
    return key


def sign(payload: bytes, key: str) -> Envelope:
    """An envelope of these bytes, signed by ssh-keygen, which may ask for a passphrase or for a touch.

    Raises:
        LedgerError: there is no ssh-keygen, or it does not sign, for want of the private key for instance.
    """
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        file = Path(key).absolute()
        if (text := key.removeprefix("key::")).startswith(("ssh-", "ecdsa-", "sk-")):
            file = Path(folder, "key.pub")
            file.write_text(f"{text}\n", encoding="utf-8")
        command = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(file)]
        try:
            done = subprocess.run(
                command, input=Envelope(payload, None).signed_bytes, capture_output=True, check=False, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = error.strerror if isinstance(error, OSError) else f"no answer in {_SECONDS} s"
            raise LedgerError(f"ssh-keygen cannot be run ({why}); install OpenSSH, {_HOW}") from None
    if done.returncode:
        why = for_line(done.stderr.decode(errors="replace").strip().splitlines()[-1] if done.stderr.strip() else "")
        raise LedgerError(
            f"ssh-keygen does not sign with {for_line(key):.200} ({shortened(why)}); is its private key beside it, "
            f"or in ssh-agent ('ssh-add -L')? Mend that, {_HOW}"
        )
    try:
        envelope = Envelope(payload, unarmored(done.stdout.decode()))
        if isinstance(verify_ssh(envelope, None), Signed):
            return envelope
    except (ValueError, CannotVerify):
        pass
    raise LedgerError("what ssh-keygen signed does not verify; use OpenSSH 8.9 or newer")


def readers_allowed_signers() -> Path | None:
    """The file that the reader's own Git configuration, and no checkout's, names as ``gpg.ssh.allowedSignersFile``."""
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    home = (Path(named),) if named is not None else (Path.home() / ".gitconfig", _xdg() / "git" / "config")
    for file in home:
        with suppress(KeyError, ValueError, pygit2.GitError):
            if found := pygit2.Config(str(file))["gpg.ssh.allowedSignersFile"]:
                return Path(found).expanduser()
    return None


def _xdg() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
