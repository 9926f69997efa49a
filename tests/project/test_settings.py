"""``params.yaml``: the repository's own loads, and every mistake in one is a line that names the place."""

import copy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from driftledger.benchmarks import registry
from driftledger.benchmarks.genception.spec import GenCeption, GenCeptionSettings
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.settings import WorkerSettings
from driftledger.core.errors import ConfigError
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.project.catalogue import CatalogueEntry
from driftledger.project.settings import Settings, load_settings
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.regions import Regions
from tests.support.params import default_params, default_settings

Change = Callable[[dict[str, Any]], object]

# Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Table 1 and section 2.1.
DESCRIBE = (
    "Please write a clear, precise, detailed, and concise description of all elements in the image. Focus on "
    "accurately depicting various aspects, including but not limited to the colors, shapes, positions, styles, texts "
    "and the relationships between different objects and subjects in the image. Your description should be thorough "
    "enough to guide a professional in recreating this image solely based on your textual representation. Remember, "
    "only include descriptive texts that directly pertain to the contents of the image. You must complete the "
    "description using less than 500 words."
)
GENERATE = "Generate an image that fully and precisely reflects this description: {description}"


@pytest.fixture(scope="module")
def shipped() -> dict[str, Any]:
    """The repository's own settings, as YAML has them."""
    return default_params()


@pytest.fixture
def load(tmp_path: Path, shipped: dict[str, Any]) -> Callable[[Change], Settings]:
    """Load the repository's settings after a change."""

    def load(change: Change) -> Settings:
        params = copy.deepcopy(shipped)
        change(params)
        path = tmp_path / "params.yaml"
        path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
        return load_settings(path)

    return load


def put(place: str, value: Any) -> Change:
    """Set ``a.b.c``; the last part may hold anything but a dot."""

    def change(params: dict[str, Any]) -> None:
        *above, last = place.split(".")
        for part in above:
            params = params[part]
        params[last] = value

    return change


def named(section: str, name: Any) -> Change:
    """Give an entry of a catalogue another name."""
    return lambda params: params[section].update({name: next(iter(params[section].values()))})


def both(one: Change, other: Change) -> Change:
    def change(params: dict[str, Any]) -> None:
        one(params)
        other(params)

    return change


def drop(section: str, key: str) -> Change:
    return lambda params: params[section].pop(key)


def message(load: Callable[[Change], Settings], change: Change) -> str:
    with pytest.raises(ConfigError) as caught:
        load(change)
    said = str(caught.value)
    assert len(said.splitlines()) == 1, said
    assert "params.yaml" in said
    return said


def test_the_prompts_are_the_papers() -> None:
    genception = default_settings().section("genception")
    assert isinstance(genception, GenCeptionSettings)
    assert genception.describe_prompt == DESCRIBE
    assert genception.generate_prompt == GENERATE


def test_the_repositorys_own_settings_load_and_build() -> None:
    settings = default_settings()
    assert settings.section("genception").model_dump()["iterations"] == 5
    assert settings.build("models", "regions_fine") == Regions(detail="fine", knowledge=True, refuses=True)
    assert settings.build("generators", "painter") == Painter(longest_side=256)
    assert settings.build("encoders", "layout") == LayoutEncoder()
    assert settings.build("datasets", "photos").groups["textual"] == ["text"]


def test_settings_are_frozen() -> None:
    settings = default_settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.run.seed = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        settings.genception = settings.section("genception")  # type: ignore[attr-defined]
    with pytest.raises(ValidationError, match="frozen"):
        settings.models["blind"].provider = "regions"  # type: ignore[misc]


SETS = ("scenes_mm_sap", "scenes_mm_vet", "scenes_mme")

MISTAKES: dict[str, tuple[Change, str, str]] = {
    # what → the change, and the place and the remedy that the line must name
    "unknown dataset": (put("run.datasets", ["photos", "digits", "foto"]), "datasets:", "did you mean 'photos'?"),
    "dataset that is not built": (
        put("run.genception", ["beans"]),
        "run: genception goes over 'beans'",
        "not in datasets; add it there",
    ),
    "trac without a text encoder": (put("run.text_encoders", []), "trac needs run.text_encoders", "select some"),
    "trac without a way to ask": (put("run.descriptions", []), "trac needs run.descriptions", "select some"),
    "unknown text encoder": (put("run.text_encoders", ["tfid"]), "encoders:", "did you mean 'tfidf'?"),
    "text encoder without a text tower": (put("run.text_encoders", ["layout"]), "no text tower", "run.encoders"),
    "texts compared by what cannot read": (
        put("genception.text_encoder", "layout"),
        "'layout' has no text tower",
        "null",
    ),
    "texts compared by nothing known": (put("genception.text_encoder", "word"), "encoders:", "'words'?"),
    "unknown witness": (put("genception.cross_check", ["blnd"]), "models:", "did you mean 'blind'?"),
    "unknown description": (put("run.descriptions", ["feature"]), "descriptions:", "did you mean 'features'?"),
    "set that is not built": (put("run.mme", ["mme_questions"]), "run: mme goes over", "not in question_sets"),
    "set of another benchmark": (
        put("run.mme", ["scenes_mm_sap"]),
        "run.mme goes over 'scenes_mm_sap', with questions for mm_sap",
        "name it in run.mm_sap",
    ),
    "set of no benchmark": (
        put("question_sets.scenes_mme", {"provider": "table", "protocol": "mne", "path": "x.jsonl"}),
        "question_sets.scenes_mme: protocol 'mne' is unknown",
        "did you mean 'mme'?",
    ),
    "benchmark without a section": (
        lambda params: params.pop("trac"),
        "run.trac selects something, and the section 'trac' is missing",
        "add one with min_coverage, confidence",
    ),
    "unread answers that nobody decided on": (drop("mme", "unread"), "mme.unread", "required"),
    "unread answers that are neither": (put("mm_vet.unread", "right"), "mm_vet.unread", "'wrong' or 'left_out'"),
    "workers of a dataset": (put("datasets.digits.workers", {}), "datasets.digits: ", "'workers' is unknown"),
    "no replicas": (put("models.blind.workers", {"replicas": 0}), "models.blind.workers.replicas", "or equal to 1"),
    "workers that are misspelt": (put("models.blind.workers", {"gpus": 1}), "models.blind.workers", "'num_gpus'"),
    "unknown place": (put("collect", {"where": "slurm"}), "collect.where", "'here' or 'ray'"),
    "address of no cluster": (put("collect", {"address": "auto"}), "collect: address is 'auto'", "set where to 'ray'"),
    "unknown judge": (put("run.judge", "rubrik"), "models:", "did you mean 'rubric'?"),
    "name that is nearest in the catalogue": (put("run.models", ["gpt4o"]), "models:", "did you mean 'gpt_4o'?"),
    "a set named like a dataset": (
        both(named("question_sets", "photos"), put("run.question_sets", ["photos", *SETS])),
        "run: 'photos' is a dataset and a question set",
        "rename one",
    ),
    "fidelity asks with examples": (
        put("fidelity.description", "features_random"),  # of the catalogue
        "fidelity.description: 'features_random' has demonstrations",
        "name one that asks once per image",
    ),
    "classes of a dataset that is not gone over": (
        put("trac.sampled_classes", ["photos"]),
        "trac.sampled_classes: 'photos' is not in run.trac",
        "select it, or remove it",
    ),
    "fidelity asks unknown": (put("fidelity.description", "element"), "descriptions:", "mean 'elements'?"),
    "fidelity prompt without place": (put("fidelity.generate_prompt", "draw"), "fidelity", "exactly once"),
    "examples without an encoder": (
        put("descriptions.elements.demonstrations", {"choose": "similar_text", "shots": [1]}),
        "similar_text needs an encoder",
        "name one",
    ),
    "random examples with an encoder": (
        put("descriptions.elements.demonstrations", {"choose": "random", "shots": [1], "encoder": "tfidf"}),
        "random examples need no encoder",
        "remove it",
    ),
    "similar images without an image tower": (
        both(
            put("run.descriptions", ["shown"]),
            put(
                "descriptions.shown",
                {
                    "prompt": "What is it?",
                    "demonstrations": {"choose": "similar_image", "encoder": "tfidf", "shots": [1]},
                },
            ),
        ),
        "descriptions.shown: 'tfidf' has no image tower",
        "similar_image needs one",
    ),
    "shots that fall": (
        put("descriptions.elements.demonstrations", {"choose": "random", "shots": [2, 1]}),
        "descriptions.elements.demonstrations",
        "shots must rise",
    ),
    "a length twice": (put("descriptions.elements.max_tokens", [30, 30]), "descriptions.elements", "a length twice"),
    "unknown model": (put("run.models", ["regions_fin"]), "models:", "did you mean 'regions_fine'?"),
    "provider of a dataset": (put("datasets.photos.provider", "photo"), "datasets.photos", "did you mean 'photos'?"),
    "provider of a model": (put("models.blind.provider", "region"), "models.blind", "did you mean 'regions'?"),
    "unknown section": (put("modells", {}), "params.yaml: setting 'modells'", "did you mean 'models'?"),
    "key in run": (put("run.sed", 1), "run: setting 'sed'", "did you mean 'seed'?"),
    "key in genception": (put("genception.iteration", 5), "genception: ", "did you mean 'iterations'?"),
    "key in tracking": (put("tracking.url", "x"), "tracking: setting 'url'", "did you mean 'uri'?"),
    "key in a model": (put("models.regions_fine.details", "fine"), "models.regions_fine", "did you mean 'detail'?"),
    "missing section": (lambda params: params.pop("tracking"), "tracking", "required"),
    "missing setting": (drop("run", "seed"), "run.seed", "required"),
    "missing provider": (put("models.blind", {}), "models.blind.provider", "required"),
    "missing setting of an entry": (put("models.regions_fine", {"provider": "regions"}), "detail", "required"),
    "no iterations": (put("genception.iterations", 0), "genception.iterations", "greater than or equal to 1 (got 0)"),
    "a group that goes further": (
        put("genception.iterations_by_group", {"textual": 6}),
        "genception: ",
        "iterations_by_group.textual is 6, above iterations, 5; lower it",
    ),
    "coverage that is no number": (put("genception.min_coverage", float("nan")), "genception.min_coverage", "nan"),
    "negative seed": (put("run.seed", -1), "run.seed", "greater than or equal to 0"),
    "empty prompt": (put("genception.describe_prompt", ""), "genception.describe_prompt", "at least 1 character"),
    "no placeholder": (put("genception.generate_prompt", "Draw."), "generate_prompt", "{description} exactly once"),
    "no store": (put("tracking.uri", ""), "tracking.uri", "at least 1 character"),
    "selected twice": (put("run.models", ["blind", "blind"]), "run.models", "'blind' is selected twice"),
    "nothing selected": (put("run.models", []), "run.models", "at least 1"),
    "a name and no list": (put("run.models", "blind"), "run.models", "(got 'blind')"),
    "catalogue as a list": (put("models", ["blind"]), "models", "dictionary"),
    "entry as a word": (put("models.blind", "blind"), "models.blind", "dictionary"),
    "name with a slash": (named("models", "a/b"), "models.a/b", "'a/b'"),
    "name that is a number": (named("models", 5), "models.5", "string"),
    "name with a newline": (named("models", "a\nb"), "models", r"a\nb"),
    "name that ends in a newline": (named("models", "blind\n"), "models", r"blind\n"),
    "encoder without an image tower": (
        both(put("encoders.sbert", {"provider": "sentence", "path": "x"}), put("run.encoders", ["sbert"])),
        "run.encoders: 'sbert' has no image tower",
        "run.text_encoders",
    ),
    "wrong detail": (put("models.regions_fine.detail", "finest"), "models.regions_fine: detail", "'fine'"),
    "groups that are no mapping": (put("datasets.photos.groups", ["text"]), "datasets.photos: groups", "dictionary"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_with_place_and_remedy(what: str, load: Callable[[Change], Settings]) -> None:
    change, place, remedy = MISTAKES[what]
    said = message(load, change)
    assert place in said
    assert remedy in said


def test_several_mistakes_are_counted(load: Callable[[Change], Settings]) -> None:
    def change(params: dict[str, Any]) -> None:
        params["genception"]["iterations"] = 0
        params["run"]["seed"] = -1

    assert message(load, change).endswith("; and 1 more")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"run: [unclosed", "is not YAML"),
        (b"a: b: c", "is not YAML"),
        (b"\ttab: 1", "is not YAML"),
        (
            b"run: {}\nmodels: {a: {url: http://x}}",
            "'http://x' has a colon inside braces; put it into quotes, line 2",
        ),
        (b"run: {seed: 1}\ntracking: {}\nrun: {}", "'run' stands twice, in lines 1 and 3"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"run: !!python/object/apply:os.getcwd []", "is not YAML"),
        (b"- run\n- genception\n", "valid dictionary"),
        (b"just words", "valid dictionary"),
        (b"", "valid dictionary"),
        (b"run: {seed: 2026-13-45}", "is not YAML"),
    ],
)
def test_a_file_that_is_no_mapping_of_yaml_is_one_line(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=expected) as caught:
        load_settings(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_says_where_to_run() -> None:
    with pytest.raises(ConfigError, match=r"nowhere/params\.yaml is missing; run this in the top folder"):
        load_settings(Path("nowhere/params.yaml"))


def test_selected_entries_are_checked_when_settings_are_loaded(load: Callable[[Change], Settings]) -> None:
    assert "models.blind" in message(load, put("models.blind.noise", 1))


def test_entries_that_are_not_selected_wait(load: Callable[[Change], Settings]) -> None:
    settings = load(put("datasets.mine", {"provider": "image_folder", "pth": "typo"}))
    with pytest.raises(ConfigError, match=r"datasets\.mine: setting 'pth' is unknown; did you mean 'path'\?"):
        settings.build("datasets", "mine")


def test_entries_that_are_not_selected_need_no_library(
    monkeypatch: pytest.MonkeyPatch, load: Callable[[Change], Settings]
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setitem(sys.modules, "driftledger.data.datasets.huggingface", None)
    beans = load(lambda params: None).entry("datasets", "beans")
    assert isinstance(beans, CatalogueEntry)
    assert beans.provider == "huggingface"


@pytest.mark.parametrize("section", PROVIDED_SECTIONS)
def test_a_name_that_is_not_in_the_catalogue_is_named_with_the_valid_ones(section: str) -> None:
    settings = default_settings()
    with pytest.raises(ConfigError, match=rf"{section}: 'nobody' is unknown; valid: "):
        settings.build(section, "nobody")


def test_two_selected_combinations_never_share_a_stage(load: Callable[[Change], Settings]) -> None:
    """DVC joins the names with ``-``: of two stages with one name it runs one, and says nothing of the other."""

    def change(params: dict[str, Any]) -> None:
        params["datasets"] |= {"a": {"provider": "photos"}, "a-b": {"provider": "photos"}}
        params["models"] |= {"c": {"provider": "blind"}, "b-c": {"provider": "blind"}}
        params["run"] |= {"datasets": ["a", "a-b"], "models": ["c", "b-c"]}

    try:
        run = load(change).run
    except ConfigError:  # names with a dash may be refused instead
        return
    chain = benchmark("genception").collects
    pairs = [(dataset, model) for dataset in run.datasets for model in run.models]
    names = {chain.named({"dataset": dataset, "model": model, "generator": "g"}) for dataset, model in pairs}
    assert len(names) == len(pairs)


def test_an_entry_of_params_wins_over_the_catalogues(load: Callable[[Change], Settings]) -> None:
    shipped = load(lambda params: None).build("datasets", "my_images")
    own = load(put("datasets.my_images", {"provider": "image_folder", "path": "elsewhere"})).build(
        "datasets", "my_images"
    )
    assert [one.model_dump()["path"] for one in (shipped, own)] == [Path("my_images"), Path("elsewhere")]


def test_workers_are_no_part_of_what_a_component_is(load: Callable[[Change], Settings]) -> None:
    plain = load(lambda params: None)
    settings = load(put("models.blind.workers", {"replicas": 3, "resources": {"big": 1}}))
    assert settings.build("models", "blind").fingerprint == plain.build("models", "blind").fingerprint
    given = settings.workers(settings.build("models", "blind"))
    assert given == WorkerSettings(replicas=3, resources={"big": 1})
    assert settings.workers(settings.build("models", "always_refuse")) is None


NOT_UNDERSTOOD = {
    "a generator": (
        {},
        r"run\.generators: 'painter' only works for models of regions, and run\.models has 'gpt_4o', of",
    ),
    "an encoder": ({"generators": ["sdxl"], "fidelity": []}, r"run\.encoders: 'layout' only .+ select vit or dinov2"),
    "a judge": ({"genception": [], "fidelity": []}, r"run\.judge: 'rubric' only .+ select gpt_4_1_judge"),
}


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_components_that_only_understand_each_other_say_so(load: Callable[[Change], Settings], case: str) -> None:
    selected, sentence = NOT_UNDERSTOOD[case]

    def change(params: dict[str, Any]) -> None:
        params["run"] |= {"models": ["regions_fine", "blind", "gpt_4o"], **selected}

    with pytest.raises(ConfigError, match=sentence):
        load(change)


def test_what_goes_over_nothing_has_nothing_to_understand(load: Callable[[Change], Settings]) -> None:
    load(lambda params: params["run"].update({"models": ["gpt_4o"], "genception": [], "fidelity": [], "mm_vet": []}))


def test_a_user_may_vouch_for_a_model(load: Callable[[Change], Settings]) -> None:
    def change(params: dict[str, Any]) -> None:
        params["run"]["models"] = ["mine"]
        params["models"]["mine"] = {"provider": "openai", "model": "x"}
        params["models"]["mine"]["understood_by"] = ["painter", "layout", "rubric"]

    settings = load(change)
    assert settings.build("models", "mine").understood_by == ("painter", "layout", "rubric")
    assert "understood_by" not in settings.build("models", "mine").spec["settings"]


def test_what_params_does_not_define_may_be_selected(load: Callable[[Change], Settings]) -> None:
    def change(params: dict[str, Any]) -> None:
        params["run"] |= {"datasets": ["photos", "digits"], "trac": ["digits"], "descriptions": ["features"]}
        for section in ("datasets", "models", "generators", "encoders", "question_sets", "descriptions"):
            del params[section]

    settings = load(change)
    assert settings.build("datasets", "digits").provider == "digits"
    assert settings.build("models", "regions_fine") == Regions(detail="fine", knowledge=True, refuses=True)
    assert settings.description("features").lengths == (None,)


def test_a_benchmark_that_params_does_not_mention_goes_over_nothing(load: Callable[[Change], Settings]) -> None:
    def change(params: dict[str, Any]) -> None:
        for section in ("mm_sap", "mm_vet", "mme"):
            del params[section], params["run"][section]

    settings = load(change)
    assert [spec.name for spec in settings.benchmarks] == ["genception", "trac", "fidelity"]
    assert list(settings.keys_of(benchmark("mme"))) == []
    assert not settings.needs_judge
    assert "rubric" not in settings.named("models")


def test_what_takes_part_is_named_whoever_names_it(load: Callable[[Change], Settings]) -> None:
    settings = load(put("run.text_encoders", ["tfidf", "clip"]))
    assert settings.named("models") == (*settings.run.models, "rubric")
    assert settings.named("encoders") == ("layout", "tfidf", "clip", "words")
    assert settings.named("descriptions") == ("features_by_words", "elements")
    assert load(put("run.fidelity", [])).named("descriptions") == ("features_by_words",)
    witnesses = load(put("genception.cross_check", ["regions_fine", "human"]))
    assert witnesses.named("models") == (*witnesses.run.models, "rubric", "human")
    assert load(put("genception.text_encoder", None)).section("genception").model_dump()["text_encoder"] is None


def test_the_words_of_a_matrix_lead_to_what_is_selected() -> None:
    run = default_settings().run
    assert run.names("trac", "dataset") == ("digits",)
    assert run.names("mme", "question_set") == ("scenes_mme",)
    assert run.names("trac", "text_encoder") == ("tfidf", "words")
    assert run.names("trac", "description") == ("features_by_words",)
    assert run.names("genception", "encoder") == ("layout",)
    assert run.names("mme", "model") == run.models


class Words(GenCeption):
    name = "words"


@pytest.fixture
def with_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A fifth benchmark, as an installed distribution would bring it."""
    monkeypatch.setitem(registry.BENCHMARKS, "words", f"{__name__}:Words")
    registry.benchmark_names.cache_clear(), registry._table.cache_clear()
    yield
    monkeypatch.undo()
    registry.benchmark_names.cache_clear(), registry._table.cache_clear()
    registry.benchmark.cache_clear()


@pytest.mark.usefixtures("with_words")
def test_a_registered_benchmark_brings_its_list_and_its_section(load: Callable[[Change], Settings]) -> None:
    assert [spec.name for spec in load(lambda params: None).benchmarks].count("words") == 0  # older files stay valid

    def change(params: dict[str, Any]) -> None:
        params["run"]["words"] = ["photos"]
        params["words"] = params["genception"] | {"iterations": 2}

    settings = load(change)
    assert settings.section("words").model_dump()["iterations"] == 2
    assert len(list(settings.keys_of(benchmark("words")))) == len(settings.run.models)
    assert "words.iteration" in message(load, both(change, put("words.iterations", 0)))
    assert "run: words goes over 'beans'" in message(load, both(change, put("run.words", ["beans"])))


@pytest.mark.usefixtures("with_words")
@pytest.mark.parametrize("name", ["models", "seed", "section", "model_dump"])
def test_a_benchmark_with_a_name_that_is_taken_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BENCHMARKS, name, f"{__name__}:Words")
    registry.benchmark_names.cache_clear(), registry._table.cache_clear()
    with pytest.raises(ConfigError, match=f"a benchmark cannot be called '{name}', which has a meaning in params.yaml"):
        default_settings()
