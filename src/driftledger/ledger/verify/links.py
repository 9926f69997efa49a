"""Whether the files behind a score belong together: hashes inside of files, and what they are the hashes of.

DVC's hashes say that files are those that were written. These links say that what was written belongs together, and
hold for files that were handed on without DVC.
"""

from collections.abc import Iterator, Mapping, Sequence

from driftledger.benchmarks.base import ROLES, SECTIONS, Stage, base_role
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import METRICS
from driftledger.benchmarks.writing import dvc_metrics
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import pretty_json, sha256_of
from driftledger.core.escaping import for_line
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.lock import RESOLVED, LockedFile
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.folders import Data, Folder, check_records, read_data
from driftledger.ledger.verify.lock_check import expected_stage, plain


def check_links(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Follow every hash that a file behind these runs holds to what it is the hash of.

    Files are read by the MD5 that the evidence says, else as they are at their paths; nothing is fetched.
    """
    links = _Links(contents)
    for lineage in {each.score_file: each for run in evidence for each in run.lineages}.values():
        links.check(lineage)
    return links.result


class _Links:
    """Follows links; each folder once, whichever scores stand on it."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.result = VerifyResult()
        self._folders: dict[LockedFile, tuple[Folder, CollectedCard | None]] = {}
        self._data: dict[LockedFile, Data] = {}

    def check(self, lineage: Lineage) -> None:
        score, spec, file = lineage.score, lineage.spec, lineage.score_file.path
        self._check_components(f"{file}: components", score.components)
        self.result.findings += [*_names(lineage), *_parameters(lineage), *self._metrics(lineage)]
        data = self._read_data(lineage)
        self._same(f"{file}: inputs.data_digest", score.inputs.data_digest, data.digest, data.card)
        for stage in spec.collects:
            if stage.name in lineage.collected:
                self._check_stage(lineage, stage, data)

    def _check_stage(self, lineage: Lineage, stage: Stage, data: Data) -> None:
        """The folder of a collect stage, and what the score says of it."""
        locked, file, inputs = lineage.collected[stage.name], lineage.score_file.path, lineage.score.inputs
        if locked not in self._folders:
            folder = Folder(locked, self._contents, self.result)
            self._folders[locked] = folder, folder.card(CARD, CollectedCard)
            self._check_folder(lineage, stage, data)
        folder, card = self._folders[locked]
        said, found = inputs.records.get(stage.name), folder.sha256(RECORDS)
        self._same(f"{file}: inputs.records.{stage.name}", said, found, f"{folder.path}/{RECORDS}")
        if card is not None:
            where = f"{folder.path}/{CARD}"
            for role, each in card.components.items():
                self._same(f"{file}: components.{role}", lineage.score.components.get(role), each, where)
            for key, value in card.protocol.items():
                self._same(f"{file}: inputs.protocol.{key}", plain(inputs.protocol.get(key)), plain(value), where)

    def _check_folder(self, lineage: Lineage, stage: Stage, data: Data) -> None:
        """What stands in the folder by itself."""
        folder, card = self._folders[lineage.collected[stage.name]]
        if card is None:
            return
        where = f"{folder.path}/{CARD}"
        self._check_components(f"{where}: components", card.components)
        place = stage.path.format_map({key: card.keys.get(key, "?") for key in stage.keys})
        if (card.benchmark, card.stage, place) != (lineage.score.benchmark, stage.name, folder.path):
            folder.add(CARD, f"it is the card of {card.stage} of {card.benchmark} in {place}")
        self._same(f"{where}: data_digest", card.data_digest, data.digest, data.card)
        for earlier, sha256 in card.records.items():
            if earlier in lineage.collected:
                other = Folder(lineage.collected[earlier], self._contents, VerifyResult())
                self._same(f"{where}: records.{earlier}", sha256, other.sha256(RECORDS), f"{other.path}/{RECORDS}")
        check_records(folder, lineage.spec, stage, card, data)

    def _read_data(self, lineage: Lineage) -> Data:
        if lineage.data not in self._data:
            folder = Folder(lineage.data, self._contents, self.result)
            self._data[lineage.data] = read_data(folder, lineage.spec.data)
        return self._data[lineage.data]

    def _metrics(self, lineage: Lineage) -> Iterator[Finding]:
        """The numbers for DVC are the score's."""
        metrics = pretty_json(dvc_metrics(lineage.spec, lineage.score)).encode()
        for out in (out for entry in lineage.stages.values() for out in entry.outs if out.path.endswith(f"/{METRICS}")):
            path = self._contents.path(out.md5, out.path)
            if path is not None and path.read_bytes() != metrics:
                yield Finding("bytes", out.path, f"its numbers are not those of {lineage.score_file.path}")

    def _same(self, where: str, said: object, found: object, what: str) -> None:
        """Compare what a file says of another with what that gives; None where the other is missing."""
        self.result.checked["links"] += 1
        if found is not None and said != found:
            difference = for_line(f"it is {said!s:.80}, and {what} gives {found!s:.80}")
            self.result.findings.append(Finding("bytes", where, difference))

    def _check_components(self, where: str, components: Mapping[str, ComponentCard]) -> None:
        for role, card in components.items():
            self.result.checked["fingerprints"] += 1
            if not _fits(card):
                what = f"its fingerprint {card.fingerprint} is not that of the provider, version, settings and identity"
                self.result.findings.append(Finding("bytes", f"{where}.{role}", f"{what} beside it"))


def _fits(card: ComponentCard) -> bool:
    """Whether a fingerprint is that of what stands beside it."""
    spec = card.model_dump(mode="json", include={"provider", "version", "settings", "identity"})
    return sha256_of(spec) == card.fingerprint


def _names(lineage: Lineage) -> Iterator[Finding]:
    """The keys of a score are those of its stage's name, and name its components."""
    score, file = lineage.score, lineage.score_file.path
    if set(score.keys) != set(lineage.spec.scores.keys) or lineage.spec.scores.named(score.keys) not in lineage.stages:
        own = f"none of the stages behind it ({', '.join(lineage.stages)}) is of that name"
        yield Finding("bytes", f"{file}: keys", for_line(f"they are {score.keys}, and {own}"))
    for role, card in score.components.items():
        if (named := score.keys.get(role, card.name)) != card.name:
            what = f"it is called {card.name}, and the score is that of {named}"
            yield Finding("bytes", f"{file}: components.{role}", for_line(what))


def _parameters(lineage: Lineage) -> Iterator[Finding]:
    """The fingerprints, seeds and settings with which the stages ran are those in the score."""
    inputs, spec = lineage.score.inputs, lineage.spec
    for name, entry in lineage.stages.items():
        expected = expected_stage(spec, name)
        own = {f"{spec.name}.{key}": key for key in expected.stage.settings} if expected else {}
        for key, value in entry.params.get("params.yaml", {}).items():
            setting = "seed" if key == "run.seed" else own.get(key, "")
            for recorded, fields in ((inputs.protocol, spec.protocol), (inputs.settings, spec.scoring)):
                field = fields.model_fields.get(setting)
                unsaid = value if field is None or field.is_required() else field.get_default()
                if plain(found := recorded.get(setting, unsaid)) != plain(value):
                    yield _ran_with(name, key, value, found)
        for key, value in entry.params.get(RESOLVED, {}).items():
            noted = value.items() if key.startswith("named.") and isinstance(value, dict) else [(key, value)]
            for component, fingerprint in noted:
                for card in _played(lineage, component):
                    if fingerprint != card.fingerprint:
                        yield _ran_with(name, component, fingerprint, card.fingerprint)


def _ran_with(stage: str, key: str, value: object, recorded: object) -> Finding:
    what = for_line(f"it ran with {key} = {value!s:.80}, and the score has {recorded!s:.80}")
    return Finding("bytes", f"stage {stage}", what)


def _played(lineage: Lineage, key: str) -> list[ComponentCard]:
    """The components that ``data/resolved.json`` calls so, among those behind the score."""
    section, _, name = key.partition(".")
    return [
        card
        for role, card in lineage.score.components.items()
        if key == role
        or (role != "judge" and SECTIONS.get(ROLES.get(base_role(role), "")) == section and card.name == name)
    ]
