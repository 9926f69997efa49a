"""How the providers of encoders with weights differ, as far as tests of what they have in common need to know."""

from typing import Any, NamedTuple

from driftledger.components.encoders import (
    CLIP,
    INCEPTION_FILE,
    DINOv2,
    DINOv3,
    Inception,
    MetaCLIP,
    OpenCLIP,
    Sentence,
    SigLIP,
    Timm,
    ViT,
)


class Provider(NamedTuple):
    """What is said in an error is a regular expression."""

    kind: type[Any]
    frechet: str | None
    """The name of its Fréchet distance; None without an image tower."""
    width: int
    lacking: str | None
    """What is said of a missing weight; None where weights are not in safetensors."""
    limit: int | None = None
    """Tokens of a text that are read; None without a text tower."""
    file: str = "model.safetensors"
    pickled: str = "pytorch_model.bin"
    refusal: str = r"model\.safetensors"
    """What is said of a pickle that is not allowed."""
    allow_pickle: bool = False


CLASS_TOKEN = r"lack the weights embeddings\.cls_token,"
PROVIDERS = {
    "vit": Provider(ViT, "frechet_vit", 32, CLASS_TOKEN),
    "dinov2": Provider(DINOv2, "frechet_dinov2", 32, CLASS_TOKEN),
    "dinov3": Provider(DINOv3, "frechet_dinov3", 32, CLASS_TOKEN),
    "timm": Provider(Timm, "frechet_timm", 32, r"lack the weights timm_model"),
    "clip": Provider(CLIP, "frechet_clip", 24, "lack the weights logit_scale,", limit=75),
    "metaclip": Provider(MetaCLIP, "frechet_metaclip", 24, "lack the weights logit_scale,", limit=75),
    "siglip": Provider(SigLIP, "frechet_siglip", 32, "lack the weights logit_bias,", limit=75),
    "open_clip": Provider(
        OpenCLIP,
        "frechet_open_clip",
        24,
        r"Missing key.*ln_final\.bias",
        limit=75,
        file="open_clip_model.safetensors",
        pickled="open_clip_pytorch_model.bin",
        refusal=r"open_clip_pytorch_model\.bin.*allow_pickle",
    ),
    "sentence": Provider(
        Sentence,
        None,
        32,
        r"lack the weights embeddings\.LayerNorm\.bias,",
        limit=30,
        refusal=r"pytorch_model\.bin.*allow_pickle",
    ),
    "inception": Provider(
        Inception,
        "fid",
        2048,
        None,
        file=INCEPTION_FILE,
        pickled=INCEPTION_FILE,
        refusal="not the published file.*allow_pickle",
        allow_pickle=True,
    ),
}
SEEING = [name for name, provider in PROVIDERS.items() if provider.frechet]
READING = [name for name, provider in PROVIDERS.items() if provider.limit]
SAFETENSORS = [name for name, provider in PROVIDERS.items() if provider.lacking]
