"""GenCeption: describe an image, redraw it from the description, repeat; how much meaning
survives?"""
