"""Components for sounds, by the libraries of those for images: describers, generators and
encoders."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from inspect import signature
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from driftledger.components.base import Encoder, Generator
from driftledger.components.checkpoints import (
    REPORTING,
    CheckpointComponent,
    ImageCheckpoint,
    quietly,
    refuse_random,
)
from driftledger.components.diffusers import Diffusers, Ready
from driftledger.components.encoders import (
    CLIP,
    TransformersEncoder,
    as_features,
    well_formed,
)
from driftledger.components.openai import OpenAIComponent
from driftledger.components.service import RemoteGenerator
from driftledger.components.tokens import tokens_of
from driftledger.components.transformers import Chat, Prompt, Transformers
from driftledger.core.canonical import Json, canonical_json
from driftledger.core.errors import DataError
from driftledger.core.media import Kind
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, Outcome, PromptUsage, Result, Sound, Usage
from driftledger.data.datasets.sounds import MOST_SECONDS, decode_sound
from driftledger.data.hub import Source

SOUNDS: frozenset[Kind] = frozenset({"sound"})


class HearingCheckpoint(ImageCheckpoint):
    """A checkpoint of transformers that hears; scipy brings sounds to its sampling rate."""

    libraries: ClassVar[tuple[str, ...]] = (
        "torch",
        "transformers",
        "tokenizers",
        "scipy",
    )
    processor_class: ClassVar[str] = "AutoProcessor"

    @cached_property
    def backend(self) -> str:
        return "torch"  # no image is resized

    def load_processor(self, location: str) -> Any:
        kind = getattr(import_extra("transformers"), self.processor_class)
        return kind.from_pretrained(location, **self.hub_arguments)


class HearingChat(Chat):
    """A chat that hears."""

    needs: ClassVar[str] = "feature_extractor"

    def opened(self, prompts: Sequence[Prompt]) -> dict[str, Any]:
        """Sounds at the checkpoint's rate, in one channel; it would hear the beginning of a longer
        one alone."""
        extractor = self.processor.feature_extractor
        sounds = [
            medium.open().mono(extractor.sampling_rate)
            for prompt in prompts
            for medium in prompt.images
        ]
        # Whisper's; Gemma 3n's is the default of an argument
        most = getattr(extractor, "n_samples", None)
        most = most or getattr(
            signature(type(extractor).__call__).parameters.get("max_length"),
            "default",
            None,
        )
        if most and any(len(sound) > most for sound in sounds):
            raise ValueError(
                f"a sound is longer than the {most / extractor.sampling_rate:g} s that it hears"
            )
        return (
            {
                "audio": sounds,
                "audio_kwargs": {"sampling_rate": extractor.sampling_rate},
            }
            if sounds
            else {}
        )


class TransformersSounds(HearingCheckpoint, Transformers):
    """Describes sounds by a checkpoint of transformers: Qwen2-Audio, Qwen2.5-Omni, Gemma 3n. See
    :class:`~driftledger.components.transformers.Transformers`."""

    media = SOUNDS
    chat_class = HearingChat


class SoundGenerator(CheckpointComponent, Generator):
    """Makes music or speech by a checkpoint of transformers: MusicGen, Bark, VITS. One sound at a
    time, so that the seed alone decides what is drawn."""

    version = "1"
    media = SOUNDS
    libraries = ("torch", "transformers", "tokenizers")
    loud = ("transformers",)

    seconds: float = Field(default=8, gt=0, le=120)
    """How long a sound of MusicGen is; Bark and VITS say their text to its end."""
    guidance_scale: float | None = Field(default=None, ge=0, le=100)
    temperature: float | None = Field(default=None, gt=0, le=10)

    def load(self, source: Source) -> tuple[Any, Any]:
        transformers = import_extra("transformers")
        model, report = transformers.AutoModelForTextToWaveform.from_pretrained(
            source.location, **REPORTING, **self.weight_arguments
        )
        refuse_random(report)
        processor = transformers.AutoProcessor.from_pretrained(
            source.location, **self.hub_arguments
        )
        if hasattr(processor, "tokenizer"):  # VITS has a tokenizer alone, of characters
            processor.tokenizer.split_special_tokens = True
        return model.to(self.torch_device).eval(), processor

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        torch, (model, processor) = import_extra("torch"), self.loaded
        config = model.config
        results = []
        bark = model.generation_config if config.model_type == "bark" else None
        rate = bark.sample_rate if bark else config.sampling_rate
        arguments = self.model_dump(
            include={"guidance_scale", "temperature"}, exclude_none=True
        )
        if config.model_type.startswith("musicgen"):
            frames = max(1, round(self.seconds * config.audio_encoder.frame_rate))
            arguments |= {"do_sample": True, "max_new_tokens": frames}
        with self.memory_guard(), quietly(*self.loud), torch.inference_mode():
            for text, seed in zip(well_formed(prompts), seeds, strict=True):
                inputs = processor(text=[text], return_tensors="pt").to(
                    self.torch_device
                )
                if not inputs.input_ids.numel():
                    results.append(
                        Result(
                            outcome=Outcome.FAILED,
                            error="it can say none of the characters",
                        )
                    )
                    continue
                tokens = int(inputs.attention_mask.sum())
                most = (
                    bark.semantic_config["max_input_semantic_length"]
                    if bark
                    else tokens
                )
                reading = PromptUsage(tokens, min(tokens, most)) if bark else None
                with torch.random.fork_rng():
                    torch.manual_seed(seed)
                    wave = (
                        model.generate(**inputs, **arguments)
                        if model.can_generate()
                        else model(**inputs).waveform
                    )
                results.append(
                    replace(
                        sound_of(wave[0].float().cpu().numpy(), rate), reading=reading
                    )
                )
        return results


def sound_of(samples: Any, rate: int) -> Result:
    """Return the result of n samples of one channel, or c×n; samples that are not numbers are a
    failure."""
    if not np.isfinite(samples).all() or not samples.size:
        return Result(
            outcome=Outcome.FAILED,
            error="the sound is empty or not finite; the dtype may overflow",
        )
    return Result(sound=Sound(np.atleast_2d(samples).T.astype(np.float32), int(rate)))


class DiffusersSounds(Diffusers):
    """Makes sounds by a pipeline of diffusers: AudioLDM 2, Stable Audio. Lengths are among
    ``arguments``: ``audio_end_in_s: 10`` or ``audio_length_in_s: 10``."""

    media = SOUNDS

    @property
    def unrepeatable(self) -> str | None:
        return None if "language_model" in self._index else super().unrepeatable

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        generate = super().generate
        if "language_model" not in self._index:
            return generate(prompts, seeds)
        # AudioLDM 2's goes by how far the longest prompt fills up the others.
        return [
            generate([prompt], [seed])[0]
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    def results(self, ready: Ready, drawn: Any) -> list[Result]:
        parts = ready.pipeline.components
        rate = getattr(
            parts["vocoder"].config if "vocoder" in parts else parts["vae"].config,
            "sampling_rate",
            0,
        )
        return [sound_of(np.asarray(values), rate) for values in drawn.audios]


class OpenAISpeech(OpenAIComponent, RemoteGenerator):
    """Speech by a service's ``/audio/speech``, as WAV. No seed is sent: equal prompts do not give
    equal sounds."""

    media = SOUNDS
    path = "/audio/speech"
    needed = "data"
    largest = 2**27
    reserved = OpenAIComponent.reserved | {
        "input",
        "voice",
        "response_format",
    }
    lines: ClassVar[dict[str, str]] = {
        "model": "correct `model:`",
        "voice": "set another `voice:`",
    }

    voice: str = "alloy"

    def expected(self, prompt: str) -> Usage:
        return Usage(tokens_of(prompt), 0, images=1)

    def body_of(self, prompt: str, seed: int) -> Json:
        voice = {"voice": self.voice, "response_format": "wav"}
        return {"model": self.model, "input": prompt, **voice, **self.extra}

    async def post(self, client: Any, body: Json) -> str:
        """Send a request, and return the sound that comes inside JSON."""
        import httpx2

        response = await client.post(self.path, body=body, cast_to=httpx2.Response)
        return canonical_json(
            {"data": [{"wav": base64.b64encode(response.content).decode()}]}
        )

    async def read(self, answer: Any, prompt: str, seed: int) -> Result:
        data = base64.b64decode(answer["data"][0]["wav"])
        try:
            sound, _ = await asyncio.to_thread(
                decode_sound, data, "its sound", max_seconds=MOST_SECONDS
            )
        except DataError as error:
            raise self.useless(
                f"an answer with no sound that can be used: {error}"
            ) from None
        return Result(sound=sound)


class HearingEncoder(HearingCheckpoint, TransformersEncoder):
    """A sound encoder of transformers, with the checkpoint's own feature extractor."""

    processor_class = "AutoFeatureExtractor"
    encode_images: ClassVar[Any] = Encoder.encode_images


class CLAP(HearingEncoder, CLIP):
    """A CLAP of transformers: the projected features of both towers, of length one.

    Of a sound that is longer than the checkpoint hears at once, the mean over as many parts as it
    has.
    """

    model_types = ("clap",)

    def encode_sounds(self, sounds: Sequence[Sound]) -> Float32:
        tower = self.loaded
        torch = import_extra("torch")
        extractor = tower.process
        heard = [sound.mono(extractor.sampling_rate) for sound in sounds]
        parts = [
            np.array_split(each, -(-len(each) // extractor.nb_max_samples))
            for each in heard
        ]
        with self.forward_pass(sounds):
            inputs = extractor(
                [*chain(*parts)],
                sampling_rate=extractor.sampling_rate,
                return_tensors="pt",
            )
            # else it marks one at random
            inputs["is_longer"] = torch.zeros_like(inputs["is_longer"])
            features = tower.model.get_audio_features(
                **inputs.to(self.torch_device, self.torch_dtype)
            ).pooler_output
            return as_features(
                torch.stack(
                    [some.mean(dim=0) for some in features.split([*map(len, parts)])]
                )
            )


class Wav2Vec2(HearingEncoder):
    """wav2vec 2 or HuBERT of transformers: the mean of the last hidden states over time, a sound at
    a time."""

    model_types = ("wav2vec2", "hubert")

    def encode_sounds(self, sounds: Sequence[Sound]) -> Float32:
        tower = self.loaded
        torch = import_extra("torch")
        rate = tower.process.sampling_rate
        features = []
        with self.forward_pass(sounds):
            for sound in sounds:
                inputs = tower.process(
                    sound.mono(rate), sampling_rate=rate, return_tensors="pt"
                )
                hidden = tower.model(
                    inputs.input_values.to(self.torch_device, self.torch_dtype)
                ).last_hidden_state
                features.append(hidden[0].mean(dim=0))
            return as_features(torch.stack(features))
