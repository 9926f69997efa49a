"""The painter: Stable Diffusion's three models, a CLIP text encoder, a U-Net and an autoencoder,
for 64×64 pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from torch import Tensor, nn
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from lab.trio.autoencoder import CHANNELS, LATENT_SIDE, as_input, is_thing
from lab.trio.loop import half
from lab.trio.stream import Random, arrangements, images

_WIDTH = 96
_BATCH = 64
_UNTOLD = 0.08
"""Of the captions that are left out, so that guidance has something to compare with."""
_FROM_NOISE = 0.4
"""Of the images that are nearly all noise: where an arrangement is decided, and all that few steps
have time for."""
_THINGS_WEIGH = 3.0


class Painter(nn.Module):
    """What is trained together."""

    def __init__(self, tokenizer: CLIPTokenizer) -> None:
        super().__init__()
        self.text = CLIPTextModel(
            CLIPTextConfig(
                vocab_size=len(tokenizer),
                hidden_size=_WIDTH,
                intermediate_size=256,
                num_hidden_layers=2,
                num_attention_heads=3,
                projection_dim=_WIDTH,
                max_position_embeddings=tokenizer.model_max_length,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        self.unet = UNet2DConditionModel(
            sample_size=LATENT_SIDE,
            in_channels=CHANNELS,
            out_channels=CHANNELS,
            block_out_channels=(64, 64),
            layers_per_block=1,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            attention_head_dim=2,
            norm_num_groups=16,
            cross_attention_dim=_WIDTH,
        )


def build_scheduler() -> DDIMScheduler:
    """Its first step starts from noise alone, so that as few steps as eight draw the whole
    picture."""
    return DDIMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        clip_sample=False,
        steps_offset=1,
        set_alpha_to_one=False,
        prediction_type="v_prediction",
        timestep_spacing="trailing",
        rescale_betas_zero_snr=True,
    )


@dataclass(frozen=True)
class Denoising:
    """Squared error of the velocity (Salimans and Ho, "Progressive Distillation", 2022) that leads
    from noise."""

    painter: Painter
    autoencoder: AutoencoderKL
    tokenizer: CLIPTokenizer
    scheduler: DDIMScheduler
    prompts: Sequence[str]
    """What captions are put into, at ``{description}``."""
    device: str

    def __call__(self, random: Random) -> Tensor:
        some = arrangements(random, _BATCH)
        pixels = images(some)
        latents = self._encoded(as_input(pixels).to(self.device))
        noise = torch.randn(latents.shape).to(self.device)
        steps = self._steps(random).to(self.device)
        noisy = self.scheduler.add_noise(latents, noise, steps)
        with half(self.device):
            context = self.painter.text(
                self._tokens(random, [one.caption for one in some])
            ).last_hidden_state
            velocity = self.painter.unet(noisy, steps, context).sample.float()
        error = (
            (velocity - self.scheduler.get_velocity(latents, noise, steps)) ** 2
        ).mean(dim=1)
        things = nn.functional.max_pool2d(torch.from_numpy(is_thing(pixels)), 4).to(
            self.device
        )
        return (error * (1 + _THINGS_WEIGH * things)).mean()

    @torch.no_grad()
    def _encoded(self, asked: Tensor) -> Tensor:
        with half(self.device):
            latents = self.autoencoder.encode(asked).latent_dist.mode()
        return latents.float() * self.autoencoder.config.scaling_factor

    def _steps(self, random: Random) -> Tensor:
        last: int = self.scheduler.config.num_train_timesteps
        first = np.where(random.random(_BATCH) < _FROM_NOISE, last * 3 // 4, 0)
        return torch.from_numpy(random.integers(first, last))

    def _tokens(self, random: Random, captions: Sequence[str]) -> Tensor:
        ways = random.integers(len(self.prompts), size=len(captions))
        untold = random.random(len(captions)) < _UNTOLD
        texts = [
            "" if left_out else self.prompts[way].replace("{description}", caption)
            for way, caption, left_out in zip(ways, captions, untold, strict=True)
        ]
        tokens: Tensor = self.tokenizer(
            texts, padding="max_length", truncation=True, return_tensors="pt"
        ).input_ids
        return tokens.to(self.device)


def save(
    folder: Path, painter: Painter, autoencoder: AutoencoderKL, tokenizer: CLIPTokenizer
) -> None:
    """As diffusers saves it, weights in half precision."""
    StableDiffusionPipeline(
        vae=autoencoder.half(),
        text_encoder=painter.text.half(),
        tokenizer=tokenizer,
        unet=painter.unet.half(),
        scheduler=build_scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
