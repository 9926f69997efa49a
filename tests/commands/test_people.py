"""Sheets for people, from the command line: what is written is kept, filled in, and read."""

import csv

import pytest

from tests.sentence import run
from tests.support.small import changed, make_small, update


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_small(tmp_path)
    return changed(
        tmp_path,
        lambda params: params["models"].update(
            seer={"provider": "human", "path": "seer"}
        ),
    )


def rows(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def test_a_first_sheet_of_descriptions_needs_nothing_but_the_images(
    project, monkeypatch, capsys
):
    assert run(monkeypatch, "people", "descriptions", "my_images", "seer") == 0
    assert "2 images to describe, 0 described" in capsys.readouterr().out
    assert len(rows(project.root / "seer" / "sheet.csv")) == 2
    assert run(monkeypatch, "people", "descriptions", "my_images", "blind") == 2
    assert (
        "models.blind in params.yaml is not of provider human"
        in capsys.readouterr().err
    )


def test_descriptions_are_rated(project, monkeypatch, capsys):
    update(project)
    changed(
        project.root, lambda params: params["fidelity"].update(ratings="ratings.csv")
    )
    capsys.readouterr()
    assert run(monkeypatch, "people", "ratings", "my_images", "--rater", "ann") == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "ratings.csv: 4 descriptions to rate, 0 rated; the images are "
        "data/datasets/my_images/images/"
    )
    assert {row["model"] for row in rows(project.root / "ratings.csv")} == {
        "blind",
        "regions_medium",
    }


def test_descriptions_are_chosen_where_models_differ(project, monkeypatch, capsys):
    project = changed(
        project.root, lambda params: params["fidelity"].update(ratings="ratings.csv")
    )
    sheet_head = "dataset,sample,model,description,rater,rating\n"
    (project.root / "ratings.csv").write_text(sheet_head, encoding="utf-8")
    update(project)
    choose = ("ratings", "my_images", "--choose", "10")
    assert run(monkeypatch, "people", *choose) == 2
    assert "my_images has fewer; evaluate more" in (capsys.readouterr().err)
    update(
        changed(
            project.root, lambda params: params["run"]["models"].append("regions_fine")
        )
    )
    assert run(monkeypatch, "people", *choose) == 0
    assert (
        "6 descriptions to rate, 0 rated, of all 2 samples with a description, which show"
        in (capsys.readouterr().out)
    )
    sheet = rows(project.root / "ratings.csv")
    assert [row["chance"] for row in sheet] == ["2 of 2"] * 6
    before = (project.root / "ratings.csv").read_bytes()
    assert run(monkeypatch, "people", *choose) == 0
    assert (project.root / "ratings.csv").read_bytes() == before
    monkeypatch.setattr("driftledger.commands.people.FEWEST", 1)
    (project.root / "ratings.csv").write_text(sheet_head, encoding="utf-8")
    chosen = []
    for number, says in (
        ("1", "of 1 samples, which"),
        ("2", "of 2 samples, which"),
        ("1", "of 2 samples, as many as were chosen before"),
    ):
        assert run(monkeypatch, "people", *choose[:-1], number) == 0
        assert says in capsys.readouterr().out
        chosen.append({row["sample"] for row in rows(project.root / "ratings.csv")})
    assert chosen[0] < chosen[1] == chosen[2]
    gone = "my_images,gone,blind,A text.,ann,5,1 of 5\n"
    (project.root / "ratings.csv").write_text(
        sheet_head.replace("\n", ",chance\n") + gone, encoding="utf-8"
    )
    assert run(monkeypatch, "people", *choose) == 2
    assert "ratings.csv has 1 samples of my_images, chosen before scores changed" in (
        capsys.readouterr().err
    )
