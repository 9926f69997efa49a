"""GenCeption: describe an image, redraw it from the description, repeat; how much meaning survives?

Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Algorithm 1.
"""
