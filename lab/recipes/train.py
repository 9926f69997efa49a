"""Every recipe of ``trio/recipes.yaml``, trained as ``trio/`` was; what is half done or done is kept."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import torch
from diffusers import AutoencoderKL
from torch import Tensor
from transformers import CLIPTokenizer

from driftledger.core.canonical import sha256_of
from lab.recipes.captions import AN
from lab.recipes.settings import Recipe
from lab.recipes.vague import GapsDenoising, VagueLessons
from lab.trio import describer, painter
from lab.trio.lessons import Asked, Choices, Lessons, Plain, Prompts, words_of, words_of_captions
from lab.trio.loop import Place, train
from lab.trio.settings import Part, choice_prompt, ways_to_ask, ways_to_tell
from lab.trio.stream import Random
from lab.trio.tokens import caption_tokenizer
from lab.trio.train import CAPTION_LENGTH, Workshop, train_eye


class Portions(describer.NextToken):
    """The loss of a batch of which a kind may be missing."""

    def __call__(self, random: Random) -> Tensor:
        return torch.stack([self._loss(asked) for asked in self._asked(random)]).sum()

    def _asked(self, random: Random) -> Iterator[Asked]:
        if self.mix.descriptions:
            yield self.lessons.descriptions(random, self.mix.descriptions)
        if self.mix.choices:
            yield self.lessons.questions(random, self.mix.choices, Choices)
        if self.mix.free:
            yield self.lessons.questions(random, self.mix.free, Plain)


class Checkpoints(NamedTuple):
    """Where a recipe's are."""

    describers: dict[int, Path]
    """By steps."""
    painter: Path | None


def checkpoints(at: Workshop, recipe: Recipe) -> Checkpoints:
    """Where a recipe's are, or will be: below a folder for each choice of settings."""
    folder = _place(at, recipe).folder
    describers = {steps: folder / str(steps) for steps in sorted(recipe.milestones)}
    return Checkpoints(describers, folder / "drawing" if recipe.painter else None)


def train_recipe(at: Workshop, recipe: Recipe) -> None:
    """All checkpoints of a recipe."""
    found = checkpoints(at, recipe)
    if found.painter is not None and recipe.painter is not None:
        train_painter(at, recipe, recipe.painter, found.painter)
    train_describers(at, recipe, found.describers)


def train_describers(at: Workshop, recipe: Recipe, folders: Mapping[int, Path]) -> None:
    """Into folders by steps. The image tower is trio's, whatever the recipe; it is trained once."""
    lessons = (VagueLessons if recipe.vague else Lessons)(
        Prompts(ways_to_ask(at.settings), choice_prompt(at.settings)), at.trio.scenes
    )
    processor = describer.build_processor(lessons.words)
    model = describer.build(processor, train_eye(at, lessons)).to(at.place.device)
    loss = Portions(model, processor, lessons, recipe.mix, at.place.device)
    learnt = train("describer", model, loss, recipe.course, _place(at, recipe), recipe.milestones)
    for steps, folder in folders.items():
        describer.save(folder, deepcopy(learnt[steps]), processor)


def train_painter(at: Workshop, recipe: Recipe, part: Part, folder: Path) -> None:
    """The painter that goes with a recipe."""
    last = max(at.trio.painter.milestones.items(), key=lambda item: item[1])[0]
    latents = AutoencoderKL.from_pretrained(at.folder / last / "vae", torch_dtype=torch.float32)
    latents = latents.requires_grad_(False).to(at.place.device)
    tokenizer = _tokenizer(at)
    torch.manual_seed(at.place.seed)
    model = painter.Painter(tokenizer).to(at.place.device)
    denoising = GapsDenoising if recipe.vague else painter.Denoising
    prompts = ways_to_tell(at.settings)
    loss = denoising(model, latents, tokenizer, painter.build_scheduler(), prompts, at.place.device)
    learnt = train("painter", model, loss, part.course, _place(at, recipe))[part.course.steps]
    painter.save(folder, learnt, deepcopy(latents), _tokenizer(at))


def _tokenizer(at: Workshop) -> CLIPTokenizer:
    words = words_of(ways_to_tell(at.settings)) | words_of_captions() | {AN}
    return caption_tokenizer(sorted({word.lower() for word in words}), CAPTION_LENGTH)


def _place(at: Workshop, recipe: Recipe) -> Place:
    digest = sha256_of(recipe.model_dump(mode="json"))[:16]
    return at.place._replace(folder=at.place.folder / digest)
