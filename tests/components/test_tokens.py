"""The tokens that services have counted: an example of each form, and odd ones."""

import json

from driftledger.components.tokens import TABLE, counts_in, usage_of
from tests.support.cases import cases, each_case


def tokens_in(answer):
    usage = usage_of(answer)
    return [usage.input_tokens, usage.output_tokens, usage.cached_tokens]


@each_case(TABLE["examples"])
def test_the_example_of_each_form(case):
    answer = {"usage": json.loads(case["usage"])}
    assert tokens_in(answer) == (case["tokens"] or [None, None, 0])


def test_every_kind_of_the_table_has_an_example():
    shown = set()
    for example in TABLE["examples"]:
        shown |= counts_in({"usage": json.loads(example["usage"])}).keys()
    assert shown == set(TABLE["names"].values())


@each_case(cases(__file__, "tokens"))
def test_odd_forms(case):
    answer = case.get("answer") or {"usage": case["usage"]}
    assert tokens_in(answer) == case["tokens"]
