"""Fidelity: is a description true to its image, and how much of the image can be drawn again from
it?"""
