"""Drawn beetles as a labelled dataset: ``species`` tells them apart, ``drawing`` draws one, ``provider`` serves all."""
