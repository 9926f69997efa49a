"""TRAC: are descriptions distinctive enough to tell, from text alone, which class an image is
of?"""
