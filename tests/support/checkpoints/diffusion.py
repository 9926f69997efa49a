"""Text-to-image pipelines of 32 × 32 pixels: U-Nets with one and two text encoders, and a diffusion
transformer."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import diffusers
import transformers

from tests.support.checkpoints.text import CLIP_LENGTH, chat_tokenizer, clip_tokenizer, t5_tokenizer
from tests.support.checkpoints.weights import randomise, seeded

SIDE = 32
LATENT = SIDE // 2
WIDTH = 32
"""Of the text encoders."""
CONTRAST = 0.5
"""Of the decoder's last weights: few pixels are black or white."""
BETAS: dict[str, Any] = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}


def saved(make: Callable[[], diffusers.DiffusionPipeline]) -> Callable[..., Path]:
    """Of a seed, into a folder."""

    @wraps(make)
    def build(folder: Path, seed: int = 0) -> Path:
        with seeded(seed):
            make().save_pretrained(folder)
        return folder

    return build


@saved
def build_stable_diffusion() -> diffusers.DiffusionPipeline:
    """Stable Diffusion 1's layout, without a safety checker; prompts are cut at 77 tokens."""
    return diffusers.StableDiffusionPipeline(
        vae=_vae(),
        text_encoder=_clip_text(transformers.CLIPTextModel),
        tokenizer=clip_tokenizer(),
        unet=_unet(cross_attention_dim=WIDTH),
        scheduler=diffusers.DDIMScheduler(
            **BETAS, clip_sample=False, set_alpha_to_one=False, steps_offset=1
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


@saved
def build_stable_diffusion_xl() -> diffusers.DiffusionPipeline:
    """SDXL's layout: two CLIP text encoders and size conditioning; prompts are cut at 77 tokens."""
    time = 8
    return diffusers.StableDiffusionXLPipeline(
        vae=_vae(),
        text_encoder=_clip_text(transformers.CLIPTextModel),
        text_encoder_2=_clip_text(transformers.CLIPTextModelWithProjection, hidden_act="gelu"),
        tokenizer=clip_tokenizer(),
        tokenizer_2=clip_tokenizer(),
        unet=_unet(
            cross_attention_dim=2 * WIDTH,
            addition_embed_type="text_time",
            addition_time_embed_dim=time,
            projection_class_embeddings_input_dim=WIDTH + 6 * time,
            use_linear_projection=True,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(**BETAS, steps_offset=1),
    )


@saved
def build_flux() -> diffusers.DiffusionPipeline:
    """FLUX.1's layout: a transformer that reads T5's tokens and CLIP's summary of the first 77."""
    transformer = diffusers.FluxTransformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=WIDTH,
        pooled_projection_dim=WIDTH,
        guidance_embeds=True,
        axes_dims_rope=(4, 6, 6),
    )
    return diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=_vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1),
        text_encoder=_clip_text(transformers.CLIPTextModel),
        tokenizer=clip_tokenizer(),
        text_encoder_2=_t5(),
        tokenizer_2=t5_tokenizer(),
        transformer=randomise(transformer),
    )


@saved
def build_pixart() -> diffusers.DiffusionPipeline:
    """PixArt-Sigma's layout: T5, in lower case."""
    transformer = diffusers.PixArtTransformer2DModel(
        sample_size=LATENT,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        caption_channels=WIDTH,
        cross_attention_dim=16,
        use_additional_conditions=False,
    )
    return diffusers.PixArtSigmaPipeline(
        scheduler=diffusers.DPMSolverMultistepScheduler(),
        vae=_vae(),
        text_encoder=_t5(),
        tokenizer=t5_tokenizer(),
        transformer=randomise(transformer),
    )


@saved
def build_sana() -> diffusers.DiffusionPipeline:
    """Sana's layout: a language model reads instructions, and the prompt right behind them."""
    tokens, _ = _language()
    text = transformers.Gemma2Config(
        vocab_size=len(tokens), hidden_size=8, intermediate_size=16, num_attention_heads=2, num_hidden_layers=1,
        num_key_value_heads=2, head_dim=4, max_position_embeddings=4096,
    )  # fmt: skip
    blocks: Any = {
        f"{part}_block_types": ("ResBlock", "ResBlock") for part in ("encoder", "decoder")
    }
    blocks |= {f"{part}_block_out_channels": (8, 8) for part in ("encoder", "decoder")}
    blocks |= {f"{part}_layers_per_block": (1, 1) for part in ("encoder", "decoder")}
    blocks |= {f"{part}_qkv_multiscales": ((), ()) for part in ("encoder", "decoder")}
    transformer = diffusers.SanaTransformer2DModel(
        patch_size=1, in_channels=4, out_channels=4, num_layers=1, num_attention_heads=2, attention_head_dim=4,
        num_cross_attention_heads=2, cross_attention_head_dim=4, cross_attention_dim=8, caption_channels=8,
    )  # fmt: skip
    return diffusers.SanaPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=7.0),
        vae=randomise(diffusers.AutoencoderDC(latent_channels=4, attention_head_dim=2, **blocks)),
        text_encoder=randomise(transformers.Gemma2Model(text)),
        tokenizer=tokens,
        transformer=randomise(transformer),
    )


@saved
def build_z_image() -> diffusers.DiffusionPipeline:
    """Z-Image's layout: a language model reads the prompt inside a chat template."""
    transformer = diffusers.ZImageTransformer2DModel(
        in_channels=4, dim=32, n_layers=1, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=WIDTH,
        axes_dims=[8, 4, 4], axes_lens=[1024, 32, 32],
    )  # fmt: skip
    tokens, config = _language()
    return diffusers.ZImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=_vae(shift_factor=0.1),
        text_encoder=randomise(transformers.Qwen3Model(config)),
        tokenizer=tokens,
        transformer=randomise(transformer),
    )


@saved
def build_flux_2() -> diffusers.DiffusionPipeline:
    """FLUX.2-klein's layout, distilled: the middle layers of a language model, and a template."""
    transformer = diffusers.Flux2Transformer2DModel(
        in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=WIDTH, axes_dims_rope=(4, 4, 4, 4),
    )  # fmt: skip
    vae = diffusers.AutoencoderKLFlux2(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=(8, 16), norm_num_groups=4, latent_channels=4, sample_size=SIDE,
    )  # fmt: skip
    tokens, config = _language()
    return diffusers.Flux2KleinPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=randomise(vae),
        text_encoder=randomise(transformers.Qwen3ForCausalLM(config)),
        tokenizer=tokens,
        transformer=randomise(transformer),
        is_distilled=True,
    )


@saved
def build_qwen_image() -> diffusers.DiffusionPipeline:
    """Qwen-Image's layout: a VLM reads the prompt inside a template, of whose features the pipeline
    cuts the end."""
    transformer = diffusers.QwenImageTransformer2DModel(
        in_channels=16, out_channels=4, num_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=WIDTH, axes_dims_rope=(8, 4, 4),
    )  # fmt: skip
    vae = diffusers.AutoencoderKLQwenImage(
        base_dim=8,
        z_dim=4,
        dim_mult=[1, 2, 2, 2],
        num_res_blocks=1,
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    )
    tokens, config = _language()
    text = config.to_dict() | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]},
        "model_type": "qwen2_5_vl_text",
    }
    vision = {
        "depth": 1,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_heads": 2,
        "out_hidden_size": WIDTH,
    }
    both = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision)
    return diffusers.QwenImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=randomise(vae),
        text_encoder=randomise(transformers.Qwen2_5_VLForConditionalGeneration(both)),
        tokenizer=tokens,
        transformer=randomise(transformer),
    )


def _language() -> tuple[Any, transformers.Qwen3Config]:
    """A language model's tokenizer, with a chat template, and its configuration."""
    tokens = chat_tokenizer("<|im_end|>", ["<|im_start|>"])
    tokens.chat_template = (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] "
        "}}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    )
    config = transformers.Qwen3Config(
        vocab_size=len(tokens), hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=4096,
    )  # fmt: skip
    return tokens, config


def _t5() -> Any:
    tokens = t5_tokenizer()
    t5 = transformers.T5Config(
        vocab_size=len(tokens),
        d_model=WIDTH,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        is_encoder_decoder=False,
    )
    return randomise(transformers.T5EncoderModel(t5))


def _clip_text(kind: type, **more: Any) -> Any:
    tokens = clip_tokenizer()
    config = transformers.CLIPTextConfig(
        vocab_size=len(tokens),
        hidden_size=WIDTH,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        projection_dim=WIDTH,
        max_position_embeddings=CLIP_LENGTH,
        bos_token_id=tokens.bos_token_id,
        eos_token_id=tokens.eos_token_id,
        pad_token_id=tokens.pad_token_id,
        **more,
    )
    return randomise(kind(config))


def _vae(**more: Any) -> diffusers.AutoencoderKL:
    model = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        latent_channels=4,
        sample_size=SIDE,
        **more,
    )
    randomise(model)
    model.decoder.conv_out.weight.data *= CONTRAST
    return model


def _unet(**more: Any) -> diffusers.UNet2DConditionModel:
    model = diffusers.UNet2DConditionModel(
        sample_size=LATENT,
        block_out_channels=(16, 32),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=2,
        norm_num_groups=8,
        **more,
    )
    return randomise(model)
