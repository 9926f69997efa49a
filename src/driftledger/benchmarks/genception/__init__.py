"""GenCeption: describe an image, redraw it, repeat."""
