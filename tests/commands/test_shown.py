"""What commands show fits the terminal, and nothing in it is obeyed there."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from driftledger.cli import PANELS, app
from driftledger.commands.verify import Verified
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.project.presets import presets, presets_in_words
from driftledger.reports.plan import plan_table
from driftledger.reports.presets import presets_table
from tests.conftest import REPOSITORY
from tests.support.params import DEFAULT
from tests.support.terminal import WIDTHS, fitting

HOSTILE = "\x1b[2J\x9b1m\u202e[red]markup[/red]\r\nall holds"
STORED = {"stored": 1_234_567, "to_make": 5, "spent": 0.0, "attempts_so_far": 0}
FREE = STORED | {"most_input_tokens": 0, "most_output_tokens": 0, "likely_cost": None, "most_cost": None}
PAID = STORED | {"most_input_tokens": 12_345_678, "most_output_tokens": 10, "likely_cost": 1.2, "most_cost": 3.4}


def verified() -> Verified:
    findings = [Finding("bytes", f"data/{HOSTILE}/{number}.png", "is another") for number in range(3)]
    skipped = [Skipped("model gpt", "a service does not answer twice the same")] * 7
    return Verified(
        ["seer · brush · eye"],
        {
            "files": VerifyResult([*findings, Finding("missing", "data/a", "is nowhere")], [], Counter(files=9_000)),
            "calls made again": VerifyResult([], skipped, Counter()),
            "ledger": VerifyResult([], [], Counter({"ledger lines": 1})),
            "links between them": VerifyResult(),
        },
    )


def test_verify_is_a_table_of_checks_then_findings_what_to_do_and_one_sentence() -> None:
    text = [" ".join(line.split()) for line in fitting(verified().as_table()).splitlines()]
    assert text[0] == "check how many result first problem"
    assert text[1].startswith("files 9,000 files 4 wrong data/\\x1b[2J")
    assert "calls made again – 7 not checked model gpt" in text
    assert "ledger 1 ledger lines holds" in text
    assert "links between them – nothing to check" in text
    whole = " ".join(text)
    assert whole.count("is another") == 3
    assert whole.count("→ bytes: 'dvc checkout'") == whole.count("→ missing: 'dvc pull'") == 1
    assert whole.count("not checked: model gpt: a service") == 5
    assert "not checked: 2 more; --json has them all seer · brush · eye: 4 differences" in whole


def test_what_cannot_be_checked_is_in_the_sentence() -> None:
    some = Verified(["a", "b"], {"calls": VerifyResult([], [Skipped("x", "y")], Counter(calls=1))})
    assert "2 runs: all holds that can be checked here; 1 not" in fitting(some.as_table()).splitlines()


def test_a_plan_is_without_columns_that_say_nothing() -> None:
    head, row = fitting(plan_table({"models.free": FREE})).splitlines()
    assert (head.split(), row.split()) == (["stored", "to", "make"], ["models.free", "1,234,567", "5"])
    text = fitting(plan_table({f"models.a_model_with_a_long_name_{n}": each for n, each in enumerate((FREE, PAID))}))
    assert "12,345,678" in text
    assert text.splitlines()[-1].split() == ["all", "3.40"]
    assert fitting(plan_table({})).strip() == ""


def test_presets_are_listed_with_a_sentence_each() -> None:
    told = presets_in_words(REPOSITORY)
    fitting(presets_table(told))
    assert [each.name for each in told] == [*presets(REPOSITORY)]
    for each in told:
        assert 20 < len(each.what) < 400
        assert 5 < len(each.needs) < 400
        assert "Needs" not in each.what
    by_name = {each.name: each for each in told}
    assert by_name["genception_v1"].what.startswith('Cao et al., "GenCeption: Evaluate')
    assert (by_name["default"].needs, by_name["default"].costs) == (
        "nothing",
        "nothing, by the prices in the catalogue",
    )


def test_what_a_preset_costs_is_counted_by_its_own_models_and_iterations() -> None:
    costs = {each.name: each.costs for each in presets_in_words(REPOSITORY)}
    ends = "'driftledger plan' counts it"
    assert costs["mmeception"] == (
        f"dall_e_3: at most 84 for 2,100 drawings of 100 images; "  # 7 models, T = 3, 0.04 each
        f"gemini_1_5_pro, claude_3_opus, gpt_4o, gpt_4v: by token; {ends}"
    )
    assert costs["mm_vet"] == f"gpt_4v, gpt_4_1_judge: by token; {ends}"


def test_a_preset_of_ones_own_is_listed_too(tmp_path: Path) -> None:
    shutil.copy(DEFAULT, tmp_path)
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "mine.yaml").write_text(f"# {HOSTILE.splitlines()[0]} x. More.\nrun: {{}}\n")
    (tmp_path / "presets" / "silent.yaml").write_text("run: {}\n")
    told = presets_in_words(tmp_path)
    [silent] = [each for each in told if each.name == "silent"]
    assert (silent.what, silent.needs) == ("", "")
    assert "\\x1b" in fitting(presets_table(told))


@pytest.mark.parametrize("width", WIDTHS)
def test_help_fits_and_what_people_type_first_comes_first(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", str(width))
    monkeypatch.setenv("COLUMNS", str(width))
    text = CliRunner().invoke(app, ["--help"]).stdout
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert re.findall(r"╭─ ([\w' ]+?) ─", text) == ["Options", *PANELS]
    places = [text.index(f"│ {name} ") for name in ("preset", "plan", "audit", "compare", "human", "track")]
    assert places == sorted(places)
    assert " driftledger audit 0.743           where is a score from?" in map(str.rstrip, text.splitlines())


def test_every_command_stands_in_a_panel_but_stages_of_dvc() -> None:
    panels = {each.name or each.callback.__name__: each.rich_help_panel for each in app.registered_commands}  # type: ignore[union-attr]
    groups = {each.name: each.rich_help_panel for each in app.registered_groups}
    assert {name for name, panel in (panels | groups).items() if panel not in PANELS} == {"stage"}
    assert {"human", "ratings", "grades"} <= groups.keys()
