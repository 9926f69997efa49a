"""What MM-SAP's three subsets share: a question with one right answer or none, and wrong ones of the same form."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.scene import Scene


class Choice(NamedTuple):
    """A multiple-choice question before the refusal joins its options."""

    subtask: str
    question: str
    wrong: tuple[str, ...]
    """Three, or four where nothing is right."""
    right: str | None = None


Asker = Callable[[Scene, Dice], Choice | None]
"""Asks about a scene, or gives None where the scene has nothing of the kind."""


def choice(subtask: str, question: str, right: str, wrong: Iterable[str]) -> Choice | None:
    """A question with the first three of ``wrong``, each told once, or None where there are fewer."""
    others = [capital(option) for option in dict.fromkeys(wrong) if option != right]
    return Choice(subtask, question, tuple(others[:3]), capital(right)) if len(others) >= 3 else None


def capital(words: str) -> str:
    """``words`` with a capital at their beginning, as all options are written."""
    return words[:1].upper() + words[1:]
