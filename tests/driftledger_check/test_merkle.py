"""RFC 6962's trees: against known vectors, against another implementation, and that no forged proof passes."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger_check import merkle

# Of Certificate Transparency's own tests: the leaves of RFC 6962's reference tree, and its root after each of them.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
HASHES = [merkle.leaf_hash(bytes.fromhex(each)) for each in LEAVES]
MANY = [b"line %d" % n for n in range(24)]


def hashes(lines: list[bytes]) -> list[bytes]:
    return [merkle.leaf_hash(line) for line in lines]


def test_roots_are_those_of_the_reference_tree() -> None:
    assert merkle.root([]).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert [merkle.root(HASHES[: n + 1]).hex() for n in range(8)] == ROOTS


def test_proofs_are_those_of_the_reference_tree() -> None:
    shared = ["ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0", ROOTS[3]]
    inclusion = ["bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b", *shared]
    consistency = ["0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a", *shared]
    assert [each.hex() for each in merkle.inclusion_proof(5, HASHES)] == inclusion
    assert [each.hex() for each in merkle.consistency_proof(6, HASHES)] == consistency


@given(st.integers(1, 70).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, size))))
def test_every_proof_holds_for_its_place_and_for_no_other(sizes: tuple[int, int]) -> None:
    size, n = sizes
    leaves = hashes([b"%d" % each for each in range(size)])
    root, path = merkle.root(leaves), merkle.inclusion_proof(n - 1, leaves)
    assert [at for at in range(-1, size + 2) if merkle.verify_inclusion(leaves[n - 1], at, size, path, root)] == [n - 1]
    proof, old = merkle.consistency_proof(n, leaves), merkle.root(leaves[:n])
    assert [at for at in range(size + 2) if merkle.verify_consistency(at, size, old, root, proof)] == [n]


@pytest.mark.parametrize(("old", "new"), [(1, 2), (3, 7), (4, 8), (6, 8), (7, 8), (8, 8)])
def test_no_step_of_a_proof_can_be_changed_left_out_or_put_in(old: int, new: int) -> None:
    before, after = merkle.root(HASHES[:old]), merkle.root(HASHES[:new])
    proof, other = merkle.consistency_proof(old, HASHES[:new]), merkle.leaf_hash(b"another")
    forged = [[*proof, other], [other, *proof], proof[:-1], list(reversed(proof))]
    forged += [[*proof[:at], other, *proof[at + 1 :]] for at in range(len(proof))]
    assert merkle.verify_consistency(old, new, before, after, proof)
    assert not [each for each in forged if each != proof and merkle.verify_consistency(old, new, before, after, each)]
    assert not merkle.verify_consistency(old, new, other, after, proof)
    assert not merkle.verify_consistency(old, new, before, other, proof)


def test_a_node_does_not_pass_for_a_line() -> None:
    leaves = hashes(MANY[:4])
    node = leaves[2] + leaves[3]  # the bytes below the right node, as one line
    assert not merkle.verify_inclusion(merkle.leaf_hash(node), 1, 2, [merkle.root(leaves[:2])], merkle.root(leaves))


def test_what_no_tree_has_is_said() -> None:
    with pytest.raises(ValueError, match="has none at 3"):
        merkle.inclusion_proof(3, HASHES[:3])
    with pytest.raises(ValueError, match="begins with no tree of 4"):
        merkle.consistency_proof(4, HASHES[:3])


CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda proof: proof | {"n": 4},
    lambda proof: proof | {"n": True},
    lambda proof: proof | {"n": 3.0},
    lambda proof: proof | {"size": 40},
    lambda proof: proof | {"size": 1 << 5000},
    lambda proof: proof | {"leaf": merkle.leaf_hash(b"another").hex()},
    lambda proof: proof | {"leaf": proof["leaf"].upper()},
    lambda proof: proof | {"root": proof["root"] + "\n"},
    lambda proof: proof | {"path": proof["path"][1:]},
    lambda proof: proof | {"path": proof["path"] * 1000},
    lambda proof: proof | {"path": "".join(proof["path"])},
    lambda proof: proof | {"path": [None, *proof["path"][1:]]},
    lambda proof: proof | {"more": 1},
    lambda proof: {name: value for name, value in proof.items() if name != "leaf"},
]


@pytest.mark.parametrize("n", [1, 3, 24])
def test_a_line_is_proved_in_json(n: int) -> None:
    proof = json.loads(json.dumps(merkle.line_proof(MANY, n)))
    assert proof["root"] == merkle.root(hashes(MANY)).hex()
    assert merkle.line_holds(proof, MANY[n - 1])
    assert not merkle.line_holds(proof, MANY[n - 2])


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_proof_of_a_line_is_refused_without_an_error(change: Callable[[dict[str, Any]], Any]) -> None:
    assert not merkle.line_holds(change(merkle.line_proof(MANY, 3)), MANY[2])
