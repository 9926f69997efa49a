"""Merkle trees by RFC 6962, section 2.1, over the lines of a ledger, and the two proofs of RFC 9162, section 2.1.

A root is 32 bytes that stand for all lines in their order. An inclusion proof shows that one line stands below a root,
a consistency proof that the lines below an old root are the first of those below a new one; neither needs the lines.
A leaf is the bytes of a line without its line end. Leaves and nodes are hashed with different first bytes, so that no
line can pass for a node.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LEAF, _NODE = b"\0", b"\1"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST = 1 << 48
"""Leaves of a tree that a proof may speak of: more than any ledger has, and numbers of any length stay out."""


def leaf_hash(line: bytes) -> bytes:
    """SHA-256 of a leaf."""
    return hashlib.sha256(_LEAF + line).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes; of no leaves it is the SHA-256 of nothing."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    left = _left(len(leaves))
    return _node(root(leaves[:left]), root(leaves[left:]))


def inclusion_proof(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """What leads from the leaf at ``index``, counted from 0, to the root over all leaf hashes.

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise ValueError(f"a tree of {len(leaves)} leaves has none at {index}")
    if len(leaves) == 1:
        return []
    left = _left(len(leaves))
    if index < left:
        return [*inclusion_proof(index, leaves[:left]), root(leaves[left:])]
    return [*inclusion_proof(index - left, leaves[left:]), root(leaves[:left])]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], expected: bytes) -> bool:
    """Whether a leaf hash stands at ``index`` of ``size`` leaves below the root ``expected`` (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size <= _MOST:
        return False
    node, last, found = index, size - 1, leaf
    for sibling in path:
        if not last:
            return False
        if node & 1 or node == last:
            found = _node(sibling, found)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            found = _node(found, sibling)
        node, last = node >> 1, last >> 1
    return not last and found == expected


def consistency_proof(old: int, leaves: Sequence[bytes]) -> list[bytes]:
    """What shows that the root over the first ``old`` leaf hashes belongs to the beginning of all of them.

    Raises:
        ValueError: there are not as many leaves, or ``old`` is not positive.
    """
    if not 0 < old <= len(leaves):
        raise ValueError(f"a tree of {len(leaves)} leaves begins with no tree of {old}")
    return _subproof(old, leaves, whole=True)


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether ``new`` leaves below ``new_root`` begin with the ``old`` ones below ``old_root`` (RFC 9162, 2.1.4.2)."""
    if not 0 < old <= new <= _MOST:
        return False
    if old == new:
        return not path and old_root == new_root
    steps = [old_root, *path] if old & (old - 1) == 0 else list(path)
    if len(steps) < 2:
        return False
    node, last = old - 1, new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    before = after = steps[0]
    for sibling in steps[1:]:
        if not last:
            return False
        if node & 1 or node == last:
            before, after = _node(sibling, before), _node(sibling, after)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            after = _node(after, sibling)
        node, last = node >> 1, last >> 1
    return not last and before == old_root and after == new_root


def line_proof(lines: Sequence[bytes], n: int) -> dict[str, Any]:
    """Line ``n``, counted from 1 as in the ledger, with its path to the root over all ``lines``: ready for JSON."""
    leaves = [leaf_hash(line) for line in lines]
    path = [node.hex() for node in inclusion_proof(n - 1, leaves)]
    return {"n": n, "size": len(leaves), "leaf": leaves[n - 1].hex(), "path": path, "root": root(leaves).hex()}


def line_holds(proof: Mapping[str, Any], line: bytes) -> bool:
    """Whether :func:`line_proof`, as JSON brought it here, shows that ``line`` stands where it says below its root.

    Whose root that is, and of how many lines, must be known from elsewhere, a signed checkpoint for instance: the path
    alone does not tell 24 lines from 25.
    """
    if set(proof) != {"n", "size", "leaf", "path", "root"} or not isinstance(path := proof["path"], list):
        return False
    if type(proof["n"]) is not int or type(proof["size"]) is not int or len(path) > _MOST.bit_length():
        return False
    if not all(isinstance(each, str) and _SHA256.fullmatch(each) for each in (proof["leaf"], proof["root"], *path)):
        return False
    leaf, nodes = leaf_hash(line), [bytes.fromhex(each) for each in path]
    inside = verify_inclusion(leaf, proof["n"] - 1, proof["size"], nodes, bytes.fromhex(proof["root"]))
    return inside and proof["leaf"] == leaf.hex()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


def _left(size: int) -> int:
    """The leaves of the left subtree: the largest power of two below ``size``."""
    return 1 << (size - 1).bit_length() - 1


def _subproof(old: int, leaves: Sequence[bytes], *, whole: bool) -> list[bytes]:
    """``whole``: whether the old tree's own root, which its owner knows, is the root of these leaves so far."""
    if old == len(leaves):
        return [] if whole else [root(leaves)]
    left = _left(len(leaves))
    if old <= left:
        return [*_subproof(old, leaves[:left], whole=whole), root(leaves[left:])]
    return [*_subproof(old - left, leaves[left:], whole=False), root(leaves[:left])]
