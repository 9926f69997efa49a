"""Conversations in a checkpoint's own chat format, in which only the format writes control tokens.

Texts are hostile: a description may hold ``<image>`` or ``<|im_end|>``, and a tokenizer does not know who wrote them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from PIL import Image

from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, ImageFile, Turn

_Message: TypeAlias = dict[str, Any]
_Shape: TypeAlias = tuple[tuple[str, tuple[bool, ...]], ...]
"""The role of each turn, and whether each of its parts is a text; else it is an image."""

_DATE_CODES = "aAbBdeFHIjmMpSTuUwWyYZ"


class UnfitError(Exception):
    """One conversation cannot be put to the model as it is; the text says why."""


class Prompt(NamedTuple):
    """A conversation as a chat template writes it, with a place-holder for each image."""

    text: str
    images: tuple[ImageFile, ...]


class _Probe(NamedTuple):
    """How a chat template takes turns of certain roles and parts."""

    as_string: bool
    """Whether turns without images, and not the user's, must be a string and not a list of parts."""
    control: tuple[list[str], list[int]]
    """The control tokens that it writes around texts without any, in order: spelled out, and as numbers."""


def load_processor(location: str, image_backend: str, arguments: Mapping[str, Any]) -> Any:
    """A checkpoint's processor, which pads on the left and has ``image_backend`` resize images.

    Raises:
        ValueError: it has no processor for both images and text, or none with that backend.
    """
    transformers = import_extra("transformers")
    import_extra("torchvision")  # for processors with a video part, whatever handles the images
    processor = transformers.AutoProcessor.from_pretrained(location, backend="torchvision", **arguments)
    if not hasattr(processor, "image_processor") or not hasattr(processor, "tokenizer"):
        raise ValueError("it has no processor for both images and text")
    if image_backend != "torchvision":  # AutoProcessor would ask the video part for the same backend
        load = transformers.AutoImageProcessor.from_pretrained
        processor.image_processor = load(location, backend=image_backend, **arguments)
    found = getattr(processor.image_processor, "backend", image_backend)  # code from a repository may not say
    if found != image_backend:
        raise ValueError(f"it handles images with {found} only; set image_backend: {found}")
    processor.tokenizer.padding_side = "left"
    if processor.tokenizer.pad_token is None:
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    return processor


@dataclass(frozen=True)
class Chat:
    """A checkpoint's processor and chat template. Of a template with several variants, the default one is taken.

    Raises:
        ConfigError: there is no template, no variable of that name in it, or an image setting is refused.
    """

    title: str
    """What sentences call the checkpoint."""
    processor: Any
    image_settings: Mapping[str, Any]
    variables: Mapping[str, Any]
    today: date

    def __post_init__(self) -> None:
        if self.image_settings:
            self._try_image_settings()
        for variable in self.variables:
            if not re.search(rf"\b{re.escape(variable)}\b", self.template):
                raise ConfigError(
                    f"{self.title}: its chat template has no variable {variable!r:.100}; mend template_variables"
                )

    @cached_property
    def template(self) -> str:
        """In Jinja. One that asks for the date is told :attr:`today`: the real one would change prompts every day."""
        found = self.processor.chat_template or self.processor.tokenizer.chat_template
        if isinstance(found, dict):
            found = found.get("default")
        if not found:
            raise ConfigError(f"{self.title} has no chat template: it cannot be asked; take a checkpoint tuned to chat")
        return _clock(self.today) + str(found) if "strftime_now" in found else str(found)

    @cached_property
    def control_tokens(self) -> re.Pattern[str]:
        """What must not come from a text: special tokens, place-holders, and words of the format with their own entry.

        Blanks and plain words with an entry of their own are text.
        """
        tokenizer = self.processor.tokenizer
        added = [
            token.content
            for token in tokenizer.added_tokens_decoder.values()
            if token.special or (token.content in self.template and not token.content.isalnum())
        ]
        named = [str(value) for name, value in vars(self.processor).items() if name.endswith("_token") and value]
        tokens = {token for token in (*added, *named, *tokenizer.all_special_tokens) if token.strip()}
        longest_first = sorted(tokens, key=lambda token: (-len(token), token))
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    @cached_property
    def _control_ids(self) -> frozenset[int]:
        entries = self.processor.tokenizer.get_added_vocab().items()
        return frozenset(number for token, number in entries if self.control_tokens.fullmatch(token))

    def prompt(self, conversation: Conversation) -> Prompt:
        """What the template makes of a conversation, with a space inside what its texts share with the format.

        Raises:
            ConfigError: the template cannot show turns of these roles and parts, whatever they say.
            UnfitError: it cannot show these texts, or something in them would be read as part of the format.
        """
        turns = conversation.turns
        probe = self._probe_of(turns)
        try:
            rendered = self._render([_message(turn, self._disarmed, probe.as_string) for turn in turns])
        except _template_errors() as error:
            raise UnfitError(f"the chat template refuses it: {for_line(str(error)):.200}") from None
        if any(text.strip() not in rendered for text in _texts(turns, self._disarmed)):
            raise UnfitError("the chat template leaves out a part of its text")
        if self._control(rendered) != probe.control:
            raise UnfitError("its text would be read as control tokens of the chat format")
        return Prompt(rendered, tuple(part for turn in turns for part in turn.parts if isinstance(part, ImageFile)))

    def tokens(self, prompt: Prompt) -> list[int]:
        """A prompt as numbers, with one place-holder for each image."""
        special = not self._begins(prompt)
        found: list[int] = self.processor.tokenizer(prompt.text, add_special_tokens=special, verbose=False).input_ids
        return found

    def encode(self, prompts: Sequence[Prompt]) -> Any:
        """Tensors for ``generate``: ``input_ids`` and ``attention_mask``, n×l, padded on the left, and images.

        Raises:
            ValueError: the processor refuses a prompt.
        """
        images = [[image.open() for image in prompt.images] for prompt in prompts]
        text: dict[str, Any] = {"padding": True, "padding_side": "left", "truncation": False, "verbose": False}
        if self._begins(prompts[0]):
            text["add_special_tokens"] = False
        return self.processor(
            text=[prompt.text for prompt in prompts],
            images=images if any(images) else None,
            return_tensors="pt",
            text_kwargs=text,
            images_kwargs=dict(self.image_settings),
        )

    def _begins(self, prompt: Prompt) -> bool:
        """Whether the template has written the token that begins a text, as ``apply_chat_template`` asks itself."""
        begin = self.processor.tokenizer.bos_token
        return bool(begin) and prompt.text.startswith(begin)

    def _try_image_settings(self) -> None:
        """So that the setting is blamed, and not the checkpoint."""
        refusals = (TypeError, ValueError, import_extra("huggingface_hub.errors").StrictDataclassError)
        try:
            self.processor.image_processor(Image.new("RGB", (64, 64)), return_tensors="pt", **self.image_settings)
        except refusals as error:
            raise ConfigError(f"{self.title} cannot use image_processor: {for_line(str(error)):.300}") from None

    @cached_property
    def _probes(self) -> dict[_Shape, _Probe]:
        return {}

    def _probe_of(self, turns: Sequence[Turn]) -> _Probe:
        """Found out once for turns of the same roles and parts, since it is the same whatever they say."""
        shape = tuple((turn.role, tuple(isinstance(part, str) for part in turn.parts)) for turn in turns)
        if shape not in self._probes:
            self._probes[shape] = self._probe(turns)
        return self._probes[shape]

    def _probe(self, turns: Sequence[Turn]) -> _Probe:
        """Find out with harmless texts, which span lines so that a list written out by mistake is noticed."""
        counter = iter(range(sum(len(turn.parts) for turn in turns)))
        harmless = [Turn(turn.role, tuple(_harmless(part, next(counter)) for part in turn.parts)) for turn in turns]
        said = ""
        for as_string in (False, True):
            try:
                rendered = self._render([_message(turn, str, as_string) for turn in harmless])
                left_out = self._left_out(harmless, as_string, rendered)
            except _template_errors() as error:
                said = said or for_line(str(error))
                continue
            if not left_out:
                return _Probe(as_string, self._control(rendered))
            said = said or left_out
        roles = ", ".join(turn.role for turn in turns)
        raise ConfigError(f"{self.title}: its chat template cannot show these turns ({roles}): {said:.200}")

    def _left_out(self, turns: Sequence[Turn], as_string: bool, rendered: str) -> str:
        """What of harmless turns ``rendered`` does not show; of several images, each must make a difference.

        Otherwise the processor would put one turn's image into the place of another's.
        """
        for turn in turns:
            if any(text not in rendered for text in _texts([turn], str)):
                return f"it leaves out what the {turn.role} says"
        without = list(_without_each_image(turns))
        for number, fewer in enumerate(without if len(without) > 1 else (), 1):
            with suppress(*_template_errors()):  # one that cannot do without the image shows it
                if self._render([_message(turn, str, as_string) for turn in fewer]) == rendered:
                    return f"it leaves out image {number} of {len(without)}; show it one image, without examples"
        return ""

    def _render(self, messages: Sequence[_Message]) -> str:
        begun = messages[-1]["role"] == "assistant"
        rendered: str = self.processor.apply_chat_template(
            list(messages),
            chat_template=self.template,
            add_generation_prompt=not begun,
            continue_final_message=begun,
            tokenize=False,
            **self.variables,
        )
        return rendered

    def _control(self, rendered: str) -> tuple[list[str], list[int]]:
        ids = self.processor.tokenizer(rendered, add_special_tokens=False, verbose=False).input_ids
        return self.control_tokens.findall(rendered), [number for number in ids if number in self._control_ids]

    def _disarmed(self, text: str) -> str:
        """As UTF-8 can hold it, and with a space after the first character of each control token."""
        text = text.encode("utf-8", "replace").decode()
        return self.control_tokens.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)


def _message(turn: Turn, written: Callable[[str], str], as_string: bool) -> _Message:
    texts = [part for part in turn.parts if isinstance(part, str)]
    if as_string and turn.role != "user" and len(texts) == len(turn.parts):
        return {"role": turn.role, "content": "".join(map(written, texts))}
    parts = [
        {"type": "text", "text": written(part)} if isinstance(part, str) else {"type": "image"} for part in turn.parts
    ]
    return {"role": turn.role, "content": parts}


def _without_each_image(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    for at, turn in enumerate(turns):
        for place, part in enumerate(turn.parts):
            if isinstance(part, ImageFile):
                rest = Turn(turn.role, turn.parts[:place] + turn.parts[place + 1 :])
                yield [*turns[:at], rest, *turns[at + 1 :]]


def _texts(turns: Sequence[Turn], written: Callable[[str], str]) -> list[str]:
    return [written(part) for turn in turns for part in turn.parts if isinstance(part, str)]


def _harmless(part: str | ImageFile, number: int) -> str | ImageFile:
    return f"word {number}\nword {number}" if isinstance(part, str) else part


def _clock(today: date) -> str:
    """A macro in place of the function that tells templates the date and the time."""
    codes = "".join(f".replace('%{code}', '{today.strftime('%' + code)}')" for code in _DATE_CODES)
    return f"{{%- macro strftime_now(format) -%}}{{{{ format{codes} }}}}{{%- endmacro %}}"


def _template_errors() -> tuple[type[Exception], ...]:
    """What rendering a template raises that cannot take its input: beside Jinja's own, those of its expressions."""
    from jinja2 import TemplateError

    return (TemplateError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)
