"""Services that are asked the same again and again: is what answers still what answered?"""
