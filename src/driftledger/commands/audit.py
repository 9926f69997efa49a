"""``audit``: show where a number comes from.

All text from files is inert in the answers.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import yaml
from rich.console import Group, RenderableType
from rich.table import Table

from driftledger.benchmarks.registry import benchmark
from driftledger.commands.terminal import HEAD, facts, line, lines, table
from driftledger.core.canonical import Json
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.text import figure, for_terminal, shortened
from driftledger.ledger.audit import Candidate, candidates_for, data_of, resolve_target
from driftledger.ledger.images import ImageTarget
from driftledger.ledger.lineage import Lineage, place_of, short_version_of
from driftledger.ledger.objects.git import Git, why_unread
from driftledger.ledger.sources import NumberTarget, RunTarget, Sources
from driftledger.ledger.versions import scores_made_with
from driftledger.project.project import Project
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.number import Number
from driftledger.scoring.roles import ROLES, flags_of, roles_of
from driftledger.tracking import assessments

SHORT = 8
"""Letters of a fingerprint in ``NAME@VERSION``, as ``audit --generator`` takes it."""
_MOST_CANDIDATES = 9
"""The most candidates that are listed."""
_OF_RUNS = ("model", "generator", "encoder", "text_encoder", "judge")
_LONGEST_VALUE = 124
"""The most letters of a value: two lines after its name."""
_CHECKED = {
    "dvc.lock": "score.json, against dvc.lock; nothing behind it yet",
    "git": "score.json and dvc.lock are of one commit; nothing behind them",
}

Answer: TypeAlias = tuple[str, list[tuple[str, str]]]
"""A headline, and pairs of a name and a value below it."""


def audit(
    project: Project,
    target: str | None,
    versions: Mapping[str, str | None],
    *,
    full: bool,
    as_json: bool,
) -> RenderableType:
    """Show the sources of a run, score, image or number, or what a text could mean.

    Args:
        target: None: show every score that one of the ``versions`` is behind, here and in Git's
            history.

    Raises:
        LedgerError: nothing has that name.
    """
    if target is not None and assessments.ID.fullmatch(target):
        answers = assessments.assessments_of(target)
        return json.dumps({"assessments": answers}, indent=2)
    sources = Sources(project)
    if target is None:
        rows = scores_made_with(sources, versions)
        notes = [_read_of_git(sources)]
        if as_json:
            return json.dumps({"scores": rows, "notes": notes}, indent=2)
        return Group(versions_table(rows), lines(notes))
    try:
        resolved = resolve_target(sources, target)
    except LedgerError:
        candidates = [] if as_json else candidates_for(sources, target)
        if not candidates:
            raise
        return candidates_table(target, candidates, sources.git)
    if as_json:
        return json.dumps(data_of(resolved), indent=2)
    if full:
        return as_yaml(resolved)
    return as_answer(resolved, why_unread(project.root), sources.git)


def _read_of_git(sources: Sources) -> str:
    """Say how many commits were read."""
    if sources.git is None:
        return f"Git was not read: {why_unread(sources.root)}"
    shallow = ""
    if sources.git.is_shallow:
        shallow = "; the clone is shallow, and older commits are not in it"
    return f"from Git: {len(sources.git.commits())} commits were read{shallow}"


def as_yaml(target: RunTarget | ImageTarget) -> str:
    """Write :func:`~driftledger.ledger.audit.data_of` as YAML."""
    plain = json.loads(json.dumps(data_of(target)))
    return for_terminal(
        yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=120)
    )


def as_answer(
    target: RunTarget | ImageTarget, unread: str = "", git: Git | None = None
) -> Group:
    """Answer in a few lines: value, versions, what was checked, what to type next.

    Args:
        unread: why Git cannot be read here, if it cannot.
        git: knows the day of the commit.
    """
    if isinstance(target, ImageTarget):
        head, pairs = _of_image(target)
    else:
        head, pairs = _of_run(target, unread, git)
    return Group(line(head, HEAD), facts(pairs))


def _headline_of(lineage: Lineage) -> NumberTarget:
    """Return the first headline of a score, or else its coverage."""
    score = lineage.score
    number = lineage.spec.metrics.headline(score)
    if number.value is None:
        coverage = Number(metric=COVERAGE.name)
        return NumberTarget(lineage, coverage, value=score.coverage)
    return NumberTarget(lineage, number, value=number.value)


def _titled(number: NumberTarget) -> str:
    """Return ``GC@5 on photos: 0.743 [0.720, 0.766]``, with its group, if it has one."""
    title = number.title
    digits = 4
    metric = number.metric
    if metric is not None:
        digits = metric.digits
        if metric.unit:
            title += f" ({metric.unit})"
    if not number.number.is_whole:
        title += f" of {number.number.group_kind} {number.number.group}"
    _, _, data = number.lineage.place.partition("/")
    value = figure(number.value, digits, number.interval)
    return f"{title} on {data}: {value}"


def _version(lineage: Lineage, role: str) -> str:
    """Return ``painter@7eb2a388``, with the version that its service named."""
    card = lineage.score.components[role]
    version = short_version_of(card)
    served = lineage.score.served.get(role)
    if served:
        version += f" (served as {', '.join(served)})"
    return version


def _of_run(target: RunTarget, unread: str, git: Git | None) -> Answer:
    """Answer about a run, or about one number of it."""
    run = target.run
    fingerprint = run.fingerprint[:12]
    number = target.number
    if number is None and target.lineage is not None:
        number = _headline_of(target.lineage)
    versions: dict[str, list[str]] = {}
    flags = []
    data = []
    wrote = []
    lineages = run.lineages if number is None else [number.lineage]
    for lineage in lineages:
        score = lineage.score
        metrics = lineage.spec.metrics
        metric = number.number.metric if number else ""
        for role in roles_of(metrics, score, metric):
            if number is not None or role in _OF_RUNS:
                kind = ROLES[role] if number is None else role
                versions.setdefault(kind, []).append(_version(lineage, role))
        flags += flags_of(metrics, score, metric)
        data.append(f"{score.on}@{score.inputs.data_digest[:SHORT]}")
        wrote.append(score.driftledger or "before 1.0.0")
    pairs = []
    for role in ROLES:
        if role in versions:
            pairs.append((role.replace("_", " "), _joined(versions[role])))
    if number is None:
        head = f"{run.name}, fingerprint {fingerprint}"
        headlines = [_headline_of(lineage) for lineage in run.lineages]
        scores = "; ".join(map(_titled, headlines))
        pairs = [("scores", scores), *pairs, ("data", _joined(data))]
    else:
        head = _titled(number)
        if number.number.why is not None:
            flags.append(number.number.why)
        lineage = number.lineage
        kind = lineage.spec.data.name.replace("_", " ")
        scored = f"{_joined(data)}, {lineage.score.how_many} scored"
        repeats = lineage.score.inputs.protocol.get("repeats", 1)
        if repeats != 1:
            scored += f", each of them {repeats} times"
        pairs = [("run", f"{run.name}, {fingerprint}"), *pairs, (kind, scored)]
    code = run.code.named(git)
    if run.code.commit is None:
        code += f": {unread or 'there was none when it was scored'}"
    is_selected = target.source == "dvc.lock"
    name = shlex.quote(run.combination.path if is_selected else fingerprint)
    pairs += [
        ("code", code),
        ("scored by", f"driftledger {_joined(wrote)}"),
        ("checked", _CHECKED[target.source]),
        ("to know", "; ".join(dict.fromkeys(flags))),
        ("next", f"driftledger verify {name}; more: --full"),
    ]
    return head, [(title, value) for title, value in pairs if value]


def _joined(texts: Sequence[str]) -> str:
    """List texts, each once."""
    return ", ".join(dict.fromkeys(texts))


def _of_image(target: ImageTarget) -> Answer:
    """Answer about the first use of an image, and name a second one."""
    use, *others = target.places
    entry = use["entry"]
    card = use["card"]
    folder = use["folder"]
    keys = card.get("keys", {})
    name = entry.get("unit") or entry.get("id")
    on = keys.get("dataset") or folder.split("/")[2]
    heads = {
        "sample": f"sample {name} of dataset {on}",
        "question": f"image of question {name} of {on}",
    }
    drawn = f"made of sample {name} of dataset {on} at t = {entry.get('step')}"
    texts = [result.get("text") for result in entry.get("results", [])]
    used = []
    for score in use["scores"]:
        value = f"{score['headline']} = {score['value']!r}"
        used.append(f"{score['path']} ({value})")
    _, _, parent = (use["parent"] or "").rpartition(", ")
    values = {
        "file": f"{folder}/{use['file']}",
        "described as": next(filter(None, texts), None),
        "question": entry.get("question"),
        "made from": parent,
    }
    for role, component in card.get("components", {}).items():
        values[role] = f"{component['name']}@{component['fingerprint'][:SHORT]}"
    digest = card.get("digest") or card.get("data_digest") or ""
    values["digest"] = digest[:SHORT]
    values["used by"] = first_few(used, 1)
    files = [f"{other['folder']}/{other['file']}" for other in others]
    values["also"] = first_few(files, 1)
    pairs = [
        (key, shortened(str(text), _LONGEST_VALUE))
        for key, text in values.items()
        if text
    ]
    return heads.get(use["role"], drawn), pairs


def candidates_table(
    text: str, candidates: Sequence[Candidate], git: Git | None
) -> Group:
    """List the numbers that could be meant, with versions and the command to type."""
    texts = []
    for candidate in candidates[:_MOST_CANDIDATES]:
        lineage = candidate.number.lineage
        role = "generator" if "generator" in lineage.score.components else "model"
        state = "selected now" if candidate.selected else "published earlier"
        code = candidate.run.code.named(git)
        version = _version(lineage, role)
        title = _titled(candidate.number)
        texts.append(f"{title}; {role} {version}; {state}, {code}")
        target = shlex.quote(candidate.target)
        texts.append(f"  driftledger audit {target}")
    if candidates[_MOST_CANDIDATES:]:
        texts.append(f"and {len(candidates) - _MOST_CANDIDATES} more")
    return Group(line(f"{text:.40} could mean:", HEAD), lines(texts))


def versions_table(rows: Sequence[Json]) -> Group:
    """Show scores by the versions that made them, with dates and runs.

    The oldest come first.

    Files that differ in other things than these have one line: the JSON has each.
    """
    alike: dict[tuple[str, ...], list[Json]] = {}
    for row in rows:
        spec = benchmark(row["benchmark"])
        versions = {}
        for part in row["versions"]:
            versions[part["part"]] = f"{part['name']}@{part['fingerprint'][:SHORT]}"
        model = versions.pop("model")
        made_with = ", ".join(sorted({*versions.values()}))
        metric = spec.metrics[row["metric"]]
        value = "–"
        if row["value"] is not None:
            value = figure(row["value"], metric.digits)
        place = place_of(spec, row["keys"])
        line_cells = (made_with, place, model, metric.titled(row["t"]), value)
        alike.setdefault(line_cells, []).append(row)
    tables: dict[str, Table] = {}
    for (made_with, *cells), files in alike.items():
        if made_with not in tables:
            tables[made_with] = table(
                "score",
                "model",
                "metric",
                "value",
                "published",
                "run",
                numbers=["value"],
            )
        since = str(files[0]["first_date"] or "–")[:10]
        period = f"since {since}"
        if not any(row["current"] for row in files):
            last = max(row["last_date"] for row in files)
            period = f"{since} to {last:.10}"
        fingerprints = [run[:SHORT] for row in files for run in row["runs"]]
        runs = first_few(fingerprints, 1) or "–"
        tables[made_with].add_row(*map(line, (*cells, period, runs)))
    blocks: list[RenderableType] = []
    for made_with, scores in tables.items():
        blocks += [line(f"made with {made_with}", HEAD), scores, ""]
    return Group(*blocks, line(f"{len(rows)} score{'' if len(rows) == 1 else 's'}"))
