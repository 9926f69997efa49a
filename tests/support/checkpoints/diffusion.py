"""Text-to-image pipelines of 32 × 32 pixels: U-Nets with one and two text encoders, and a diffusion transformer."""

from pathlib import Path
from typing import Any

from diffusers import (
    AutoencoderDC,
    AutoencoderKL,
    AutoencoderKLFlux2,
    AutoencoderKLQwenImage,
    DDIMScheduler,
    DiffusionPipeline,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    Flux2KleinPipeline,
    Flux2Transformer2DModel,
    FluxPipeline,
    FluxTransformer2DModel,
    PixArtSigmaPipeline,
    PixArtTransformer2DModel,
    QwenImagePipeline,
    QwenImageTransformer2DModel,
    SanaPipeline,
    SanaTransformer2DModel,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
    ZImagePipeline,
    ZImageTransformer2DModel,
)
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    Gemma2Config,
    Gemma2Model,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3Model,
    T5Config,
    T5EncoderModel,
)

from tests.support.checkpoints.text import CLIP_LENGTH, chat_tokenizer, clip_tokenizer, t5_tokenizer
from tests.support.checkpoints.weights import randomise, seeded

SIDE = 32
LATENT = SIDE // 2
WIDTH = 32
"""Of the text encoders."""
CONTRAST = 0.5
"""Of the decoder's last weights: few pixels are black or white."""
BETAS: dict[str, Any] = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"}


def build_stable_diffusion(folder: Path, seed: int = 0) -> Path:
    """Stable Diffusion 1's layout, without a safety checker; prompts are cut at 77 tokens."""
    with seeded(seed):
        pipeline = StableDiffusionPipeline(
            vae=_vae(),
            text_encoder=_clip_text(CLIPTextModel),
            tokenizer=clip_tokenizer(),
            unet=_unet(cross_attention_dim=WIDTH),
            scheduler=DDIMScheduler(**BETAS, clip_sample=False, set_alpha_to_one=False, steps_offset=1),
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
        )
        return _save(folder, pipeline)


def build_stable_diffusion_xl(folder: Path, seed: int = 0) -> Path:
    """SDXL's layout: two CLIP text encoders and size conditioning; prompts are cut at 77 tokens."""
    time = 8
    with seeded(seed):
        pipeline = StableDiffusionXLPipeline(
            vae=_vae(),
            text_encoder=_clip_text(CLIPTextModel),
            text_encoder_2=_clip_text(CLIPTextModelWithProjection, hidden_act="gelu"),
            tokenizer=clip_tokenizer(),
            tokenizer_2=clip_tokenizer(),
            unet=_unet(
                cross_attention_dim=2 * WIDTH,
                addition_embed_type="text_time",
                addition_time_embed_dim=time,
                projection_class_embeddings_input_dim=WIDTH + 6 * time,
                use_linear_projection=True,
            ),
            scheduler=EulerDiscreteScheduler(**BETAS, steps_offset=1),
        )
        return _save(folder, pipeline)


def build_flux(folder: Path, seed: int = 0) -> Path:
    """FLUX.1's layout: a transformer that reads T5's tokens and CLIP's summary of the first 77."""
    with seeded(seed):
        transformer = FluxTransformer2DModel(
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
        pipeline = FluxPipeline(
            scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
            vae=_vae(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1),
            text_encoder=_clip_text(CLIPTextModel),
            tokenizer=clip_tokenizer(),
            text_encoder_2=_t5(),
            tokenizer_2=t5_tokenizer(),
            transformer=randomise(transformer),
        )
        return _save(folder, pipeline)


def build_pixart(folder: Path, seed: int = 0) -> Path:
    """PixArt-Sigma's layout: T5, in lower case."""
    with seeded(seed):
        transformer = PixArtTransformer2DModel(
            sample_size=LATENT,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=2,
            caption_channels=WIDTH,
            cross_attention_dim=16,
            use_additional_conditions=False,
        )
        pipeline = PixArtSigmaPipeline(
            scheduler=DPMSolverMultistepScheduler(),
            vae=_vae(),
            text_encoder=_t5(),
            tokenizer=t5_tokenizer(),
            transformer=randomise(transformer),
        )
        return _save(folder, pipeline)


def build_sana(folder: Path, seed: int = 0) -> Path:
    """Sana's layout: a language model reads instructions, and the prompt right behind them."""
    tokens, _ = _language()
    text = Gemma2Config(
        vocab_size=len(tokens), hidden_size=8, intermediate_size=16, num_attention_heads=2, num_hidden_layers=1,
        num_key_value_heads=2, head_dim=4, max_position_embeddings=4096,
    )  # fmt: skip
    blocks: Any = {f"{part}_block_types": ("ResBlock", "ResBlock") for part in ("encoder", "decoder")}
    blocks |= {f"{part}_block_out_channels": (8, 8) for part in ("encoder", "decoder")}
    blocks |= {f"{part}_layers_per_block": (1, 1) for part in ("encoder", "decoder")}
    blocks |= {f"{part}_qkv_multiscales": ((), ()) for part in ("encoder", "decoder")}
    with seeded(seed):
        transformer = SanaTransformer2DModel(
            patch_size=1, in_channels=4, out_channels=4, num_layers=1, num_attention_heads=2, attention_head_dim=4,
            num_cross_attention_heads=2, cross_attention_head_dim=4, cross_attention_dim=8, caption_channels=8,
        )  # fmt: skip
        pipeline = SanaPipeline(
            scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0),
            vae=randomise(AutoencoderDC(latent_channels=4, attention_head_dim=2, **blocks)),
            text_encoder=randomise(Gemma2Model(text)),
            tokenizer=tokens,
            transformer=randomise(transformer),
        )
        return _save(folder, pipeline)


def build_z_image(folder: Path, seed: int = 0) -> Path:
    """Z-Image's layout: a language model reads the prompt inside a chat template."""
    with seeded(seed):
        transformer = ZImageTransformer2DModel(
            in_channels=4, dim=32, n_layers=1, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=WIDTH,
            axes_dims=[8, 4, 4], axes_lens=[1024, 32, 32],
        )  # fmt: skip
        tokens, config = _language()
        pipeline = ZImagePipeline(
            scheduler=FlowMatchEulerDiscreteScheduler(),
            vae=_vae(shift_factor=0.1),
            text_encoder=randomise(Qwen3Model(config)),
            tokenizer=tokens,
            transformer=randomise(transformer),
        )
        return _save(folder, pipeline)


def build_flux_2(folder: Path, seed: int = 0) -> Path:
    """FLUX.2-klein's layout, distilled: the middle layers of a language model, and a template."""
    with seeded(seed):
        transformer = Flux2Transformer2DModel(
            in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
            joint_attention_dim=WIDTH, axes_dims_rope=(4, 4, 4, 4),
        )  # fmt: skip
        vae = AutoencoderKLFlux2(
            down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
            block_out_channels=(8, 16), norm_num_groups=4, latent_channels=4, sample_size=SIDE,
        )  # fmt: skip
        tokens, config = _language()
        pipeline = Flux2KleinPipeline(
            scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
            vae=randomise(vae),
            text_encoder=randomise(Qwen3ForCausalLM(config)),
            tokenizer=tokens,
            transformer=randomise(transformer),
            is_distilled=True,
        )
        return _save(folder, pipeline)


def build_qwen_image(folder: Path, seed: int = 0) -> Path:
    """Qwen-Image's layout: a VLM reads the prompt inside a template, of whose features the pipeline cuts the end."""
    with seeded(seed):
        transformer = QwenImageTransformer2DModel(
            in_channels=16, out_channels=4, num_layers=1, attention_head_dim=16, num_attention_heads=2,
            joint_attention_dim=WIDTH, axes_dims_rope=(8, 4, 4),
        )  # fmt: skip
        vae = AutoencoderKLQwenImage(
            base_dim=8, z_dim=4, dim_mult=[1, 2, 2, 2], num_res_blocks=1, latents_mean=[0.0] * 4, latents_std=[1.0] * 4
        )
        tokens, config = _language()
        text = config.to_dict() | {
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]},
            "model_type": "qwen2_5_vl_text",
        }
        vision = {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": WIDTH}
        encoder = Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(text_config=text, vision_config=vision))
        pipeline = QwenImagePipeline(
            scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
            vae=randomise(vae),
            text_encoder=randomise(encoder),
            tokenizer=tokens,
            transformer=randomise(transformer),
        )
        return _save(folder, pipeline)


def _language() -> tuple[Any, Qwen3Config]:
    """A language model's tokenizer, with a chat template, and its configuration."""
    tokens = chat_tokenizer("<|im_end|>", ["<|im_start|>"])
    tokens.chat_template = (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
        "{% endfor %}<|im_start|>assistant\n"
    )
    config = Qwen3Config(
        vocab_size=len(tokens), hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=4096,
    )  # fmt: skip
    return tokens, config


def _t5() -> Any:
    tokens = t5_tokenizer()
    t5 = T5Config(
        vocab_size=len(tokens), d_model=WIDTH, d_kv=8, d_ff=48, num_layers=2, num_heads=4, is_encoder_decoder=False
    )
    return randomise(T5EncoderModel(t5))


def _clip_text(kind: type, **more: Any) -> Any:
    tokens = clip_tokenizer()
    config = CLIPTextConfig(
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


def _vae(**more: Any) -> AutoencoderKL:
    model = AutoencoderKL(
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


def _unet(**more: Any) -> UNet2DConditionModel:
    model = UNet2DConditionModel(
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


def _save(folder: Path, pipeline: DiffusionPipeline) -> Path:
    pipeline.save_pretrained(folder)
    return folder
