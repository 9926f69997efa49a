"""Count how often each stored picture is decoded for a page or a run."""

from collections import Counter

from driftledger.data import thumbnails


def count_decodes(monkeypatch):
    """Return a counter of the files that are decoded from now on."""
    decode = thumbnails.decode
    decoded = Counter[str]()

    def counted(data, name, most_pixels):
        decoded[name] += 1
        return decode(data, name, most_pixels)

    monkeypatch.setattr(thumbnails, "decode", counted)
    return decoded
