"""How much a bundle may ask of whoever reads it. Each bound is far above what real runs have."""

BYTES = 0xFFFF_0000
"""Of a bundle: what fits a ZIP file without its 64-bit form. A larger run is bundled without its images."""
MEMBERS = 65_000
"""For the same reason; a chain of five drawings for 10,000 photographs has 60,000."""
MEMBER_BYTES = 512_000_000
"""Of one member, which is read as a whole: features of 100,000 images, 1,024 numbers each, have 410 MB."""
LIST_BYTES = 32_000_000
"""Of the list of members at a ZIP file's end."""
JSON_BYTES = 256_000_000
"""Of all JSON and JSONL members together: a description of 2 kB for each of 100,000 records."""
DEPTH = 32
"""How deep JSON may nest; a score has eight levels."""
PIXELS = 50_000_000
"""Of one image, as ``max_pixels`` has it where datasets are built; decoded it takes 150 MB, one image at a time."""
