"""``check-component``: holds one entry of the project or of the catalogue to the contract of its kind."""

import sys
from typing import Any, NamedTuple

from rich.console import Group

from driftledger.benchmarks.base import SECTIONS
from driftledger.collect.observations import Observed, write_observations
from driftledger.commands.collect import check_known
from driftledger.components.base import Component
from driftledger.components.contract import Report, calls_of_service, check_component
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.escaping import for_line
from driftledger.core.terminal import BAD, GOOD, QUIET, line, lines, table
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS, Settings

_STYLES = {"holds": GOOD, "differs": BAD, "not applicable": QUIET}


class CheckedEntry(NamedTuple):
    """An entry, and what its checks came to."""

    section: str
    name: str
    component: Component
    report: Report

    @property
    def observed(self) -> Observed | None:
        """What was seen of calls that were made twice, where one gave other bytes."""
        calls, other = self.report.made_twice
        return Observed(name=self.component.provider, asked_again=calls, other=other) if other else None

    def as_table(self) -> Group:
        """A row per check, with what holds it up; each finding in a row of its own; and a sentence on all."""
        made = table("check", "result", "seen")
        for check in self.report.checks:
            told = [str(finding) for finding in check.findings] or [check.note or check.asks]
            made.add_row(line(check.name), line(check.verdict, _STYLES[check.verdict]), line(told[0]))
            for more in told[1:]:
                made.add_row(line(""), line(""), line(more))
        wrong = [check.name for check in self.report.checks if check.findings]
        if wrong:
            end = f"{self.section}.{self.name} does not keep its contract: {', '.join(wrong)}"
        else:
            end = self.report.problems[0] if self.report.problems else f"{self.section}.{self.name} keeps its contract"
        return Group(made, lines(["", end]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "section": self.section,
            "name": self.name,
            "provider": self.component.provider,
            "fingerprint": self.component.fingerprint,
            **self.report.to_dict(),
        }


def check(project: Project, name: str, kind: str | None = None, paid: int | None = None) -> CheckedEntry:
    """Hold the entry called ``name`` to its contract.

    Args:
        kind: of :data:`~driftledger.benchmarks.base.SECTIONS`, where entries of several have the name.
        paid: how many calls of a service may be made.

    Raises:
        ConfigError: there is no such entry, or more than one; or it is a service, and makes more calls than are
            allowed.
    """
    settings = project.settings
    section = section_of(settings, name, kind)
    makers = {"models": settings.model, "generators": settings.generator, "encoders": settings.encoder}
    component: Component = makers[section](name)
    calls = calls_of_service(component)
    if calls > (paid or 0):
        raise ConfigError(
            f"{section}.{name} is a service, of which this makes {calls} calls that may cost money; allow them with "
            f"--paid {calls}"
        )
    if calls:
        print(f"{section}.{name} is asked {calls} times", file=sys.stderr, flush=True)
    return CheckedEntry(section, name, component, check_component(component))


def note(project: Project, checked: CheckedEntry) -> None:
    """Keep in ``data/observations.json`` that calls of a component of the project gave other bytes when they were made
    again; the report and ``compare`` read it there. Where none did, nothing is written, and no stage is stale."""
    settings = project.settings
    ours = checked.name in getattr(settings, checked.section) or checked.name in settings.named(checked.section)
    if ours and checked.observed is not None:
        with project.only_one(project.paths.observations):
            write_observations(project.paths.observations, {checked.component.fingerprint: checked.observed})
        file = project.paths.observations.relative_to(project.root)
        print(for_line(f"{checked.observed}: noted in {file}; commit it"), file=sys.stderr, flush=True)


def section_of(settings: Settings, name: str, kind: str | None) -> str:
    """The section that has an entry of that name.

    Raises:
        ConfigError: none has one, or several have, and ``kind`` does not say which is meant.
    """
    if kind is not None:
        check_known("kind", [kind], SECTIONS)
    sections = [SECTIONS[kind]] if kind else list(dict.fromkeys(SECTIONS.values()))
    having = [section for section in sections if name in settings.entries(section)]
    if not having:
        raise ConfigError(
            unknown_name(f"{PARAMS}: component", name, {each for one in sections for each in settings.entries(one)})
        )
    if len(having) > 1:
        kinds = [word for word, section in SECTIONS.items() if section in having and word != "judge"]
        raise ConfigError(f"{name!r} is in {' and '.join(having)}; say which with --kind {' or --kind '.join(kinds)}")
    return having[0]
