"""Git's configuration in a checkout names programs; a reader runs none of them, and not even Git."""

import os
from collections.abc import Callable
from pathlib import Path

from .conftest import Stranger

Attack = Callable[[Stranger], object]


def setting(name: str, value: str = "") -> Attack:
    def attack(stranger: Stranger) -> None:
        stranger.git("config", name, value or stranger.touch)

    return attack


def filters(kind: str) -> Attack:
    """A filter that Git runs on whatever it cannot tell by its time alone."""

    def attack(stranger: Stranger) -> None:
        stranger.git("config", f"filter.theirs.{kind}", stranger.touch)
        git = Path(stranger.git("rev-parse", "--absolute-git-dir").strip())
        (git / "info").mkdir(exist_ok=True)
        (git / "info" / "attributes").write_text("* filter=theirs\n", encoding="utf-8")
        os.utime(stranger.root / "params.yaml", (1, 1))

    return attack


def hooks(stranger: Stranger) -> None:
    for name in ("post-index-change", "post-checkout", "fsmonitor-watchman", "reference-transaction"):
        hook = stranger.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{stranger.touch}\n", encoding="utf-8")
        hook.chmod(0o755)
    os.utime(stranger.root / "params.yaml", (1, 1))


def promisor(stranger: Stranger) -> None:
    """A partial clone, whose missing objects Git fetches by a program."""
    stranger.git("config", "core.repositoryFormatVersion", "1")
    stranger.git("config", "extensions.partialClone", "origin")
    stranger.git("config", "remote.origin.promisor", "true")
    stranger.git("config", "remote.origin.url", f"ext::{stranger.touch}")
    stranger.git("config", "protocol.ext.allow", "always")
    blob = stranger.git("rev-parse", "HEAD:params.yaml").strip()
    (stranger.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    os.utime(stranger.root / "params.yaml", (1, 1))


def submodule(stranger: Stranger) -> None:
    """A repository in the repository, with a monitor of its own, which Git asks in turn."""
    inner = stranger.root / "inner"
    inner.mkdir()
    for command in (("init", "--quiet"), ("config", "user.name", "t"), ("config", "user.email", "t@localhost")):
        stranger.git("-C", "inner", *command)
    (inner / "a").write_text("a", encoding="utf-8")
    stranger.git("-C", "inner", "add", "a")
    stranger.git("-C", "inner", "commit", "--quiet", "--message", "a")
    (stranger.root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n', "utf-8")
    stranger.git("add", ".gitmodules", "inner")
    stranger.git("commit", "--quiet", "--message", "inner")
    stranger.git("-C", "inner", "config", "filter.theirs.clean", stranger.touch)
    (inner / ".git" / "info" / "attributes").write_text("* filter=theirs\n", encoding="utf-8")
    os.utime(inner / "a", (1, 1))


def elsewhere(stranger: Stranger) -> None:
    """A ``.git`` that is a file, which names a repository of the stranger's in another place."""
    there = stranger.root.parent / "there"
    (stranger.root / ".git").rename(there)
    (stranger.root / ".git").write_text(f"gitdir: {there}\n", encoding="utf-8")
    setting("core.fsmonitor")(stranger)
    filters("clean")(stranger)


def borrowed(stranger: Stranger) -> None:
    """Objects that lie in another repository, which says by a program what it has."""
    there = stranger.root.parent / "there.git"
    stranger.git("clone", "--quiet", "--bare", ".", str(there))
    (stranger.root / ".git" / "objects" / "info" / "alternates").write_text(f"{there / 'objects'}\n", encoding="utf-8")
    setting("core.alternateRefsCommand")(stranger)
    filters("clean")(stranger)


def configured(stranger: Stranger) -> None:
    """Programs that Git runs besides one another: each leaves its mark, whatever else is set."""
    for attack in (setting("core.fsmonitor"), filters("clean"), filters("process"), hooks, setting("diff.external")):
        attack(stranger)


ATTACKS: tuple[Attack, ...] = (configured, promisor, submodule, borrowed, elsewhere)


def test_no_program_of_the_checkout_runs(stranger: Stranger) -> None:
    checkouts = [stranger.again(f"{number}/checkout") for number, _ in enumerate(ATTACKS)]
    for checkout, attack in zip(checkouts, ATTACKS, strict=True):
        attack(checkout)
    stranger.mark.unlink(missing_ok=True)  # which setting the traps may have sprung
    stranger.read_in_turn(checkouts)
    assert not stranger.mark.exists()
