"""Everything trained one after the other, from nothing, into the folders that the catalogue of
params.yaml names."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import torch
from diffusers import AutoencoderKL
from transformers import CLIPTokenizer, CLIPVisionModel

from driftledger.core.canonical import sha256_of
from driftledger.project.settings import Settings
from lab.trio import autoencoder, describer, eye, looker, painter, pair
from lab.trio.lessons import Lessons, Prompts, words_of, words_of_captions
from lab.trio.loop import Place, train
from lab.trio.settings import TrioSettings, choice_prompt, ways_to_ask, ways_to_tell
from lab.trio.tokens import caption_tokenizer

CAPTION_LENGTH = 48
"""Tokens that CLIP's text encoders read: the longest caption in the longest prompt has 46."""


@dataclass(frozen=True)
class Workshop:
    """What training needs to know."""

    settings: Settings
    trio: TrioSettings
    place: Place
    folder: Path
    """Where checkpoints go, each into a folder of its name."""
    lessons: Path
    """Scenes, and what is asked about them."""


def workshop(
    settings: Settings, trio: TrioSettings, state: Path, folder: Path
) -> Workshop:
    """Checkpoints go below ``folder``. What is half done is below ``state``, apart for each choice
    of settings."""
    asked = [ways_to_ask(settings), ways_to_tell(settings), choice_prompt(settings)]
    chosen = sha256_of([trio.model_dump(mode="json"), asked])[:16]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return Workshop(
        settings,
        trio,
        Place(state / chosen, device, trio.seed),
        folder,
        folder / "lessons",
    )


def train_describer(at: Workshop) -> None:
    """A LLaVA, in two rounds."""
    lessons = Lessons(
        Prompts(ways_to_ask(at.settings), choice_prompt(at.settings)), at.lessons
    )
    processor = describer.build_processor(lessons.words)
    model = describer.build(processor, train_eye(at, lessons)).to(at.place.device)
    for name, part in (("describer", at.trio.describer), ("polish", at.trio.polish)):
        loss = describer.NextToken(model, processor, lessons, part.mix, at.place.device)
        learnt = train(
            name, model, loss, part.course, at.place, part.milestones.values()
        )
        for checkpoint, steps in part.milestones.items():
            describer.save(at.folder / checkpoint, deepcopy(learnt[steps]), processor)
        model = learnt[part.course.steps].requires_grad_(True)


def train_eye(at: Workshop, lessons: Lessons) -> CLIPVisionModel:
    """The describer's image tower."""
    course = at.trio.eye.course
    torch.manual_seed(at.place.seed)
    model = eye.Eye(describer.eye_config()).to(at.place.device)
    return train(
        "eye", model, eye.Naming(model, lessons, at.place.device), course, at.place
    )[course.steps].tower


def train_painter(at: Workshop) -> None:
    """An autoencoder, and then a U-Net and its text encoder between captions and its latents."""
    part, device = at.trio.painter, at.place.device
    latents = train_autoencoder(at)
    tokenizer = _tokenizer(at.settings)
    torch.manual_seed(at.place.seed)
    model = painter.Painter(tokenizer).to(device)
    loss = painter.Denoising(
        model,
        latents,
        tokenizer,
        painter.build_scheduler(),
        ways_to_tell(at.settings),
        device,
    )
    learnt = train(
        "painter", model, loss, part.course, at.place, part.milestones.values()
    )
    for name, steps in part.milestones.items():
        painter.save(
            at.folder / name, learnt[steps], deepcopy(latents), _tokenizer(at.settings)
        )


def train_autoencoder(at: Workshop) -> AutoencoderKL:
    """With the factor that brings its latents to a standard deviation of 1."""
    course, device = at.trio.autoencoder.course, at.place.device
    torch.manual_seed(at.place.seed)
    model = autoencoder.build().to(device)
    learnt = train(
        "autoencoder",
        model,
        autoencoder.Reconstruction(model, device),
        course,
        at.place,
    )[course.steps]
    learnt.register_to_config(
        scaling_factor=autoencoder.scaling_factor(learnt, at.place)
    )
    return learnt


def train_pair(at: Workshop) -> None:
    """An open_clip model."""
    course, device = at.trio.pair.course, at.place.device
    tokenizer = _tokenizer(at.settings)
    torch.manual_seed(at.place.seed)
    model = pair.build(tokenizer).to(device)
    learnt = train(
        "pair", model, pair.Contrast(model, tokenizer, device), course, at.place
    )[course.steps]
    pair.save(at.folder / "clip", learnt, _tokenizer(at.settings))


def train_looker(at: Workshop) -> None:
    """A ViT."""
    course, device = at.trio.looker.course, at.place.device
    torch.manual_seed(at.place.seed)
    model = looker.Looker().to(device)
    learnt = train("looker", model, looker.Naming(model, device), course, at.place)[
        course.steps
    ]
    looker.save(at.folder / "vit", learnt)


PARTS: dict[str, Callable[[Workshop], None]] = {
    "describer": train_describer,
    "painter": train_painter,
    "pair": train_pair,
    "looker": train_looker,
}


def _tokenizer(settings: Settings) -> CLIPTokenizer:
    texts = words_of(ways_to_tell(settings)) | words_of_captions()
    return caption_tokenizer(sorted({word.lower() for word in texts}), CAPTION_LENGTH)
