"""TRAC: do descriptions tell the class of an image, from text alone?"""
