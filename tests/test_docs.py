"""What README, CONTRIBUTING, CHANGELOG and ``docs/`` tell people to type, look at and copy exists
and works."""

import json
import re
import tomllib
from itertools import chain

import pytest
import yaml
from typer.main import get_command

from driftledger.benchmarks.registry import benchmarks
from driftledger.cli import app
from driftledger.core.registry import EXTRAS, not_installed, providers
from driftledger.project.settings import parse_settings
from lab.tree import PACKAGE, lines
from tests.conftest import REPOSITORY
from tests.support.params import default_params

PAGES = {
    page.relative_to(REPOSITORY).as_posix(): page.read_text(encoding="utf-8")
    for page in (
        *sorted(REPOSITORY.glob("*.md")),
        *sorted((REPOSITORY / "docs").rglob("*.md")),
    )
}
README = PAGES["README.md"]
TYPED = [
    words
    for page in PAGES.values()
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    for line in block.splitlines()
    if (words := line.split("#")[0].split())
]
TYPED += [
    span.split() for page in PAGES.values() for span in re.findall(r"`([^`\n]+)`", page)
]


def test_each_file_says_what_it_is():
    tree = list(lines(REPOSITORY / PACKAGE))
    assert "    frame                    All scores" in "\n".join(tree)
    assert [line for line in tree if len(line.split()) < 3] == []


@pytest.mark.parametrize(
    "target",
    sorted({words[1] for words in TYPED if words[0] == "make" and len(words) > 1}),
)
def test_every_make_target_exists(target):
    assert re.search(
        rf"^{target}:",
        (REPOSITORY / "Makefile").read_text(encoding="utf-8"),
        re.MULTILINE,
    )


def test_every_command_exists():
    commands = get_command(app).commands
    typed = {
        words[1] for words in TYPED if words[0] == "driftledger" and len(words) > 1
    }
    used = {word for word in typed if not word.startswith("-")}
    assert {"audit", "track", "plan"} <= used <= set(commands)


def test_security_says_of_every_command_whether_it_is_for_a_checkout_of_others():
    lists = re.findall(
        r"^- (?:Commands that read|All other commands) \(([^)]+)\)",
        PAGES["SECURITY.md"],
        re.MULTILINE,
    )
    reading, other = (re.findall(r"`([^`]+)`", names) for names in lists)
    assert "plan --local" in reading
    commands = get_command(app).commands.items()
    shown = [name for name, command in commands if not command.hidden]
    assert sorted([*reading, *other]) == sorted(["plan --local", *shown])


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_repository_leads_somewhere(page):
    links = [
        link.partition("#")[0]
        for link in re.findall(r"\]\(([^)#][^)]*)\)", PAGES[page])
        if "://" not in link
    ]
    assert [
        link for link in links if not ((REPOSITORY / page).parent / link).exists()
    ] == []


def test_readme_is_read_in_three_minutes_and_leads_to_every_page():
    assert len(README.split()) < 700  # code and tables among them
    linked = {
        link
        for page in PAGES.values()
        for link in re.findall(r"([a-z_]+\.md)[)#]", page)
    }
    assert {
        name.rpartition("/")[2] for name in PAGES if name.startswith("docs/")
    } <= linked


def copied(block):
    """The settings with a block of a page laid over them, and nothing else."""
    params = default_params()
    changes = yaml.safe_load(block)
    for section, values in changes.items():
        params[section] = params.get(section, {}) | values
    return parse_settings(params, "params.yaml")


BLOCKS = [
    (page, block)
    for page in PAGES
    for block in re.findall(r"```yaml\n(.*?)```", PAGES[page], re.DOTALL)
]


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_every_block_of_params_can_be_copied(page, block):
    assert copied(block)


@pytest.mark.parametrize("spec", [each for each in benchmarks() if each.questions])
def test_the_columns_of_questions_are_those_that_are_read(spec):
    table = PAGES["docs/data.md"].partition("| column |")[2].partition("\n\n")[0]
    head, _, *lines = table.splitlines()
    place = [cell.strip() for cell in head.split("|")].index(spec.name)
    columns = {"yes": set(), "if any": set(), "–": set()}
    for line in lines:
        names, *cells = line.strip("|").split("|")
        columns[cells[place].strip()] |= {*re.findall("`(.+?)`", names)}
    assert columns["yes"] == {*spec.questions.needed}
    assert columns["if any"] == {*spec.questions.optional}


def test_every_provider_and_every_extra_is_named_as_it_is():
    components = [
        providers(section) for section in ("models", "generators", "encoders")
    ]
    named = {words[0] for words in TYPED}
    assert {
        name
        for table in components
        for name, place in table.items()
        if "driftledger_demo." not in place
    } <= named
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"])
    promised = {
        extra
        for page in PAGES.values()
        for extra in re.findall(r"(?:driftledger)?\[([a-z_]+)\]`", page)
    }
    assert {"torch", "openai", "diffusers", "fid"} <= promised <= extras
    assert set(EXTRAS.values()) <= extras


def test_a_missing_library_is_installed_by_what_pip_finds():
    for library in EXTRAS:
        packages = str(not_installed(library)).partition("run: pip install ")[2].split()
        assert packages
        assert not [name for name in packages if not re.fullmatch(r"[a-z0-9-]+", name)]
    of_torch = (
        "accelerate num2words safetensors sentencepiece torch torchvision transformers"
    )
    assert (
        str(not_installed("torch"))
        == f"the library 'torch' is not installed; run: pip install {of_torch}"
    )
    assert "open-clip-torch" in str(not_installed("transformers", "open_clip")).split()


def test_the_items_of_the_papers_are_counted_and_their_tests_exist():
    page = PAGES["docs/method/papers.md"]
    items: dict[str, list[int]] = {"Exact": [], "Differs": [], "Not built": []}
    for section in page.split("\n## ")[1:]:
        for part in re.split(r"^(?=Exact|Differs|Not built)", section, flags=re.M)[1:]:
            numbers = re.findall(r"\*\*(\d+)\*\*", part)
            items[part.partition(":")[0]] += map(int, numbers)
    assert sorted(chain(*items.values())) == [*range(1, 104)]
    exact, differs, not_built = map(len, items.values())
    said = re.search(
        r"(\d+) are exact .*?, (\d+) differ, and (\d+) are not\s", page, re.S
    )
    assert said
    assert [*map(int, said.groups())] == [exact, differs, not_built]
    code = "".join(
        file.read_text(encoding="utf-8")
        for file in (REPOSITORY / "tests").rglob("test_*.py")
    )
    held = json.loads(
        (REPOSITORY / "tests/cases/papers.json").read_text(encoding="utf-8")
    )
    assert sorted(items["Exact"] + items["Differs"]) == [*map(int, held)]
    by_hand = "".join(
        file.read_text(encoding="utf-8")
        for file in (REPOSITORY / "tests/cases/benchmarks").glob("*.jsonl")
    )
    tests = [name for name in held.values() if f"def {name}(" not in code]
    assert [case for case in tests if case not in by_hand] == []
