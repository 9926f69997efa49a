"""Published judgements are read as they are published, and a mistake names its line."""

from pathlib import Path

import pytest

from driftledger.core.errors import ConfigError, DataError
from driftledger.data.judgements import EXPERTS, TOKENS, Judged, judgement_digests, read_judgements


def flickr(folder: Path, experts: str, tokens: str = "a.jpg#0\tA dog  runs .\nb.jpg#1\tTwo boats .\n") -> Path:
    place = folder / "flickr8k_expert"
    place.mkdir(parents=True)
    (place / EXPERTS).write_text(experts, encoding="utf-8")
    (place / TOKENS).write_text(tokens, encoding="utf-8")
    return folder


def test_three_experts_of_flickr8k_are_averaged(tmp_path: Path) -> None:
    (found,) = read_judgements(flickr(tmp_path, "a.jpg\ta.jpg#0\t4\t4\t3\nb.jpg\ta.jpg#0\t1\t1\t1\n"))
    assert found.name == "flickr8k_expert"
    assert [(each.image, each.caption) for each in found.captions] == [("a", "A dog runs ."), ("b", "A dog runs .")]
    assert [each.rating for each in found.captions] == pytest.approx([11 / 3, 1.0])


def test_polaris_and_tables_with_models_are_read_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "polaris.csv").write_text('imgid,refs,cand,score\nx.jpg,"[""a""]",A cat,0.75\n', encoding="utf-8")
    (tmp_path / "icbench.csv").write_text("image,model,caption,mos\nf/y.png,llava,A tree,62.5\n", encoding="utf-8")
    icbench, polaris = read_judgements(tmp_path)
    assert polaris.captions == (Judged("x", "A cat", 0.75),)
    assert icbench.captions == (Judged("y", "A tree", 62.5, "llava"),)
    assert set(judgement_digests(tmp_path)) == {"polaris.csv", "icbench.csv"}


def test_nothing_is_read_where_there_is_nothing(tmp_path: Path) -> None:
    assert read_judgements(tmp_path / "none") == []
    assert judgement_digests(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("image,caption\nx,y\n", "names none of rating, human_score, score, mos"),
        ("image,caption,rating\nx,,1\n", "line 2: caption is empty"),
        ("image,caption,rating\nx,y,good\n", "line 2: 'good' is no number"),
        ("image,caption,rating\nx,y,nan\n", "line 2: 'nan' is no number"),
    ],
)
def test_a_mistake_in_a_table_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    with pytest.raises((DataError, ConfigError), match=said):
        read_judgements(tmp_path)


@pytest.mark.parametrize(
    ("experts", "said"),
    [
        ("a.jpg\tz.jpg#0\t4\t4\t3\n", "line 1: 'z.jpg#0' is no caption"),
        ("a.jpg\ta.jpg#0\t4\t4\n", "line 1: 4 columns between tabs"),
        ("a.jpg\ta.jpg#0\t4\tx\t3\n", "line 1: 'x' is no number"),
    ],
)
def test_a_mistake_in_flickr8k_is_named(experts: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_judgements(flickr(tmp_path, experts))


def test_a_folder_without_its_captions_says_so(tmp_path: Path) -> None:
    folder = flickr(tmp_path, "a.jpg\ta.jpg#0\t4\t4\t3\n")
    (folder / "flickr8k_expert" / TOKENS).unlink()
    with pytest.raises(DataError, match=f"{TOKENS} is missing"):
        read_judgements(folder)
