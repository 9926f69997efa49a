"""The commands of docs/trust.md that sign what is published, where their tools are installed."""

import re
import shutil
import subprocess

import pytest

from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs/trust.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Sign what you publish")[2].partition("\n## ")[0]


def commands(*starts):
    """The commands of the section that begin so, without their comments."""
    lines = SECTION.replace("\\\n", " ").splitlines()
    found = [re.sub(r"\s+#.*", "", line) for line in lines if line.startswith(starts)]
    assert len(found) >= len(starts), starts
    return found


def run(folder, *lines):
    env = {
        "HOME": str(folder),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for line in lines:
        done = subprocess.run(
            line,
            cwd=folder,
            env=env,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.fixture
def folder(tmp_path):
    """A home with an SSH key, a bundle, and whom a reader trusts."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / "score.zip").write_bytes(b"a bundle")
    run(tmp_path, "ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519")
    key = (tmp_path / ".ssh/id_ed25519.pub").read_text()
    (tmp_path / "allowed_signers").write_text(f"you@example.org {key}")
    return tmp_path


def test_a_bundle_is_signed_with_ssh(folder):
    sign, verify = commands("ssh-keygen -Y sign", "ssh-keygen -Y verify")
    run(folder, sign, verify)
    (folder / "score.zip").write_bytes(b"another")
    with pytest.raises(
        AssertionError, match=r"incorrect signature|Signature verification failed"
    ):
        run(folder, verify)


def test_a_tag_is_signed(folder):
    run(
        folder,
        "git init -q && git config user.name t && git config user.email you@example.org && git "
        "config gpg.format ssh",
        "git config user.signingkey .ssh/id_ed25519.pub && git config gpg.ssh.allowedSignersFile "
        "allowed_signers",
        "git commit -q --allow-empty -m scores",
        *commands("git tag -s", "git verify-tag"),
    )
