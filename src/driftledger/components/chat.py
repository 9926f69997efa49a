"""A checkpoint's chat format: conversations as prompts with images.

Only the format writes control tokens. Texts are hostile: a description may hold ``<image>`` or
``<|im_end|>``, and a tokenizer does not know who wrote them.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, NamedTuple

from PIL import Image

from driftledger.components.checkpoints import disarmed
from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, Medium, Turn


class UnfitError(Exception):
    """The model cannot take this conversation; the message says why."""


class Prompt(NamedTuple):
    """A conversation as a chat template writes it, with a placeholder for each image."""

    text: str
    images: tuple[Medium, ...]


@dataclass(frozen=True)
class Chat:
    """A checkpoint's processor and its chat template; of several variants, the default one.

    Raises:
        ConfigError: the template or a variable in it is missing, or an image setting is refused.
    """

    title: str
    """The checkpoint's name in messages."""
    processor: Any
    image_settings: Mapping[str, Any]
    variables: Mapping[str, Any]
    today: date
    own: str | None = None
    """A template that replaces the checkpoint's."""
    padding: str = "left"
    """The side on which shorter prompts are padded: left if new text goes on from a prompt."""

    def __post_init__(self) -> None:
        if self.image_settings:  # so that the setting is blamed, and not the checkpoint
            refusals = (
                TypeError,
                ValueError,
                import_extra("huggingface_hub.errors").StrictDataclassError,
            )
            try:
                self.processor.image_processor(
                    Image.new("RGB", (64, 64)),
                    return_tensors="pt",
                    **self.image_settings,
                )
            except refusals as error:
                raise ConfigError(
                    f"{self.title} cannot use image_processor: {for_line(str(error)):.300}"
                ) from None
        for variable in self.variables:
            if not re.search(rf"\b{re.escape(variable)}\b", self.template):
                raise ConfigError(
                    f"{self.title}: its chat template has no variable {variable!r:.100}; correct "
                    "template_variables"
                )

    @cached_property
    def template(self) -> str:
        """The Jinja template; if it asks for the date, it gets :attr:`today`.

        The real date would change prompts every day.
        """
        template = (
            self.own
            or self.processor.chat_template
            or self.processor.tokenizer.chat_template
        )
        if isinstance(template, dict):
            template = template.get("default")
        if not template:
            raise ConfigError(
                f"{self.title} has no chat template: take a checkpoint tuned to chat, or set "
                "chat_template to a file"
            )
        if "strftime_now" not in template:
            return str(template)
        codes = ""
        for code in "aAbBdeFHIjmMpSTuUwWyYZ":
            codes += f".replace('%{code}', '{self.today.strftime('%' + code)}')"
        return (
            f"{{%- macro strftime_now(format) -%}}{{{{ format{codes} }}}}{{%- endmacro "
            f"%}}{template}"
        )

    @cached_property
    def control_tokens(self) -> re.Pattern[str]:
        """A pattern of the words that a text must not bring in.

        They are special tokens, placeholders, and words of the format that are one token. Blanks
        and plain words that are one token are text.
        """
        tokenizer = self.processor.tokenizer
        tokens = set(tokenizer.all_special_tokens)
        for token in tokenizer.added_tokens_decoder.values():
            is_of_format = (
                token.content in self.template and not token.content.isalnum()
            )
            if token.special or is_of_format:
                tokens.add(token.content)
        for name, value in vars(self.processor).items():
            if name.endswith("_token") and value:
                tokens.add(str(value))
        words = filter(str.strip, tokens)
        longest_first = sorted(words, key=lambda token: (-len(token), token))
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def prompt(self, conversation: Conversation) -> Prompt:
        """Render a conversation by the template, with a space inside each control token of its
        texts.

        Raises:
            ConfigError: the template cannot show turns of these roles and parts.
            UnfitError: it leaves a text out, or something in a text would be read as part of the
                format.
        """
        control = self.control_tokens
        turns = []
        for turn in conversation.turns:
            parts = []
            for part in turn.parts:
                parts.append(disarmed(part, control) if isinstance(part, str) else part)
            turns.append(Turn(turn.role, tuple(parts)))
            if control.search(turns[-1].text):  # put together from two parts
                raise UnfitError(
                    "its text would be read as control tokens of the chat format"
                )
        rendered, as_string = self._rendered(turns)
        images = conversation.media
        if len(images) > 1:
            self._check_images(turns, rendered, as_string)
        return Prompt(rendered, tuple(images))

    def _check_images(
        self, turns: Sequence[Turn], rendered: str, as_string: bool
    ) -> None:
        """Raise a :class:`ConfigError` if the template leaves out one of several images.

        Another image would take its place. A template that cannot do without the image shows it.
        """
        places = []
        for at, turn in enumerate(turns):
            for place, part in enumerate(turn.parts):
                if isinstance(part, Medium):
                    places.append((at, place))
        for number, (at, place) in enumerate(places, 1):
            parts = turns[at].parts
            without = Turn(turns[at].role, parts[:place] + parts[place + 1 :])
            fewer = [*turns[:at], without, *turns[at + 1 :]]
            with suppress(*_template_errors()):
                if self._render(fewer, as_string) == rendered:
                    raise ConfigError(
                        f"{self.title}: its chat template leaves out image {number} of "
                        f"{len(places)}; show it one image, without examples"
                    )

    def encode(self, prompts: Sequence[Prompt]) -> Any:
        """Return the tensors for ``generate``.

        They are ``input_ids`` and ``attention_mask``, n×l and padded, and those of the images.

        Raises:
            ValueError: the processor refuses a prompt.
        """
        text: dict[str, Any] = {
            "padding": True,
            "padding_side": self.padding,
            "truncation": False,
            "verbose": False,
        }
        # the template has written the token that begins a text, as apply_chat_template asks itself
        begin = self.processor.tokenizer.bos_token
        if begin and prompts[0].text.startswith(begin):
            text["add_special_tokens"] = False
        images = [[image.open() for image in prompt.images] for prompt in prompts]
        return self.processor(
            text=[prompt.text for prompt in prompts],
            images=images if any(images) else None,
            return_tensors="pt",
            text_kwargs=text,
            images_kwargs=dict(self.image_settings),
        )

    def _rendered(self, turns: Sequence[Turn]) -> tuple[str, bool]:
        """Return the rendered prompt, and whether turns without images had to be plain strings."""
        texts = []
        for turn in turns:
            texts += [part.strip() for part in turn.parts if isinstance(part, str)]
        refusals = []
        for as_string in (False, True):
            try:
                rendered = self._render(turns, as_string)
            except _template_errors() as error:
                refusals.append(for_line(str(error)))
                continue
            is_list_written_out = "'type': 'text'" in rendered
            if all(text in rendered for text in texts) and not is_list_written_out:
                return rendered, as_string
        if len(refusals) < 2:
            raise UnfitError("the chat template leaves out a part of its text")
        roles = ", ".join(turn.role for turn in turns)
        raise ConfigError(
            f"{self.title}: its chat template cannot show these turns ({roles}): {refusals[0]:.200}"
        )

    def _render(self, turns: Sequence[Turn], as_string: bool) -> str:
        messages = []
        for turn in turns:
            content: Any = []
            for part in turn.parts:
                if isinstance(part, str):
                    content.append({"type": "text", "text": part})
                else:
                    content.append({"type": "image"})
            has_image = any(isinstance(part, Medium) for part in turn.parts)
            if as_string and turn.role != "user" and not has_image:
                content = turn.text
            messages.append({"role": turn.role, "content": content})
        continues = turns[-1].role == "assistant"
        rendered: str = self.processor.apply_chat_template(
            messages,
            chat_template=self.template,
            add_generation_prompt=not continues,
            continue_final_message=continues,
            tokenize=False,
            **self.variables,
        )
        return rendered


def _template_errors() -> tuple[type[Exception], ...]:
    """Return the errors of a template that cannot take its input.

    They are Jinja's own, and those of the expressions in it.
    """
    from jinja2 import TemplateError

    return (
        TemplateError,
        TypeError,
        ValueError,
        AttributeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    )
