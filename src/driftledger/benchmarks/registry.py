"""All benchmarks by name.

A specification is imported when its benchmark is asked for: the command line starts without any.
"""

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_yaml
from driftledger.core.registry import installed

if TYPE_CHECKING:
    from driftledger.benchmarks.base.benchmark import Benchmark
    from driftledger.data.question_sets.base import QuestionProvider, QuestionRules

BENCHMARKS = {
    "genception": "driftledger.benchmarks.genception.spec:GenCeption",
    "self_retrieval": "driftledger.benchmarks.self_retrieval.spec:SelfRetrieval",
    "trac": "driftledger.benchmarks.trac.spec:Trac",
    "fidelity": "driftledger.benchmarks.fidelity.spec:FidelityBenchmark",
    "mm_sap": "driftledger.benchmarks.mm_sap.spec:MMSAP",
    "mm_vet": "driftledger.benchmarks.mm_vet.spec:MMVet",
    "mme": "driftledger.benchmarks.mme.spec:MME",
}
"""Name → its specification, in the order in which tables and MLflow tell of them.

Installed distributions name further ones by entry points of the group ``driftledger.benchmarks``.
"""

FIRST = next(iter(BENCHMARKS))
"""The benchmark of a first look; notebooks show its chains."""


@cache
def benchmark_names() -> tuple[str, ...]:
    """Return the names of all benchmarks, ours first."""
    return tuple(_table())


@cache
def benchmark(name: str) -> "Benchmark":
    """Return the specification of that name.

    Raises:
        ConfigError: no benchmark has this name.
    """
    table = _table()
    if name not in table:
        raise ConfigError(unknown_name("benchmark", name, table))
    module, _, spec = table[name].partition(":")
    return cast("type[Benchmark]", getattr(import_module(module), spec))()


def benchmarks() -> tuple["Benchmark", ...]:
    """All of them."""
    return tuple(benchmark(name) for name in benchmark_names())


def section_text(name: str) -> str:
    """Return the text of the settings that a benchmark ships.

    Raises:
        ConfigError: somebody else's benchmark comes with none.
    """
    package = type(benchmark(name)).__module__.rpartition(".")[0]
    try:
        return (files(package) / "settings.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError):  # a module in no package
        raise ConfigError(
            f"the section {name!r} is missing; add it to params.yaml"
        ) from None


def shipped_section(name: str) -> Any:
    """Return what :func:`section_text` says, by setting."""
    return load_yaml(section_text(name))[name]


def question_rules(provider: "QuestionProvider") -> "QuestionRules":
    """Return the rules for a provider's questions, and check its settings by them.

    Raises:
        ConfigError: they are for no benchmark that asks questions, or its settings mean nothing for
            these.
    """
    name = provider.protocol
    rules = benchmark(name).questions if name in benchmark_names() else None
    if rules is None:
        raise ConfigError(
            unknown_name(
                "protocol",
                name,
                [s.name for s in benchmarks() if s.questions is not None],
            )
        )
    provider.check(rules)
    return rules


def find_score(path: str) -> "tuple[Benchmark, dict[str, str]] | None":
    """Return the benchmark and keys of the score at ``path``, or None.

    The path is that of its folder or of a file in it, relative to the top folder.
    """
    for spec in benchmarks():
        folder = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]*)", spec.scores.path)
        if match := re.fullmatch(f"{folder}(?:/[^/]*)?", path):
            return spec, match.groupdict()
    return None


@cache
def _table() -> dict[str, str]:
    return {
        **BENCHMARKS,
        **{
            point.name: point.value
            for point in installed().get("driftledger.benchmarks", ())
        },
    }
