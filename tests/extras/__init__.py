"""Tests of what is optional: a folder for each extra, skipped as a whole where a library of it is
missing."""

from importlib.util import find_spec

NEEDS = {
    "browser": ("playwright", "axe_playwright_python"),
    "diffusers": ("torch", "diffusers"),
    "fid": ("torch", "cleanfid"),
    "litellm": ("litellm",),
    "neural": ("torch", "transformers", "diffusers", "open_clip", "cleanfid"),
    "notebook": ("nbclient", "ipykernel"),
    "openclip": ("torch", "open_clip"),
    "pdf": ("pypdfium2",),
    "sentence": ("torch", "sentence_transformers"),
    "team": ("moto", "boto3", "psycopg"),
    "torch": ("torch", "torchvision", "transformers"),
}
"""Folder → the libraries that its tests import."""
MISSING = {
    folder: missing
    for folder, libraries in NEEDS.items()
    if (missing := [library for library in libraries if find_spec(library) is None])
}
