"""Every small fault that can be put into a file, as a piece of text that takes another's place."""

import ast
import difflib
import hashlib
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}
_CALLS = {"sorted": "list", "min": "max", "max": "min"}
_TYPING = {"TypeAlias", "TypeVar"}


class Mutation(NamedTuple):
    """One fault: ``new`` in place of ``old``, from the character ``start`` of a file on."""

    path: str
    """Relative to the top folder."""
    operator: str
    start: int
    old: str
    new: str
    line: int
    id: str
    """Of path, operator, line of text and which of equal ones on it: the same while other lines change."""

    def apply(self, source: str) -> str:
        """The file with the fault."""
        return source[: self.start] + self.new + source[self.start + len(self.old) :]

    def diff(self, source: str) -> str:
        """Unified, with two lines around."""
        old, new = source.splitlines(keepends=True), self.apply(source).splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, f"a/{self.path}", f"b/{self.path}", n=2))


class _Piece(NamedTuple):
    operator: str
    start: int
    end: int
    new: str


def mutations(path: str, source: str) -> list[Mutation]:
    """All of a file, from its top to its end.

    Raises:
        SyntaxError: it is no Python.

    >>> [(each.old, each.new) for each in mutations("m.py", "def f(x, n=1):\\n    return x[0] + n < 5\\n")]
    [('1', '0'), ('x[0] + n < 5', 'None'), ('0', '-1'), ('+', '-'), ('<', '<='), ('<', '>='), ('5', '6')]
    """
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    lines, seen = source.splitlines(), Counter[tuple[str, ...]]()
    made = []
    for piece in sorted(set(finder.pieces), key=lambda each: (each.start, -each.end, each.new)):
        line, old = source.count("\n", 0, piece.start) + 1, source[piece.start : piece.end]
        key = (path, piece.operator, lines[line - 1].strip(), old, piece.new)
        seen[key] += 1
        name = hashlib.sha256("\0".join([*key, str(seen[key])]).encode()).hexdigest()[:12]
        made.append(Mutation(path, piece.operator, piece.start, old, piece.new, line, name))
    return made


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.pieces: list[_Piece] = []
        self._source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._encoded = [line.encode() for line in source.splitlines()]
        self._tokens = [
            (self._lines[token.start[0] - 1] + token.start[1], token.string)
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type in (tokenize.OP, tokenize.NAME)
        ]

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            written, others = _COMPARISONS[type(operator)]
            for other in others:
                self._between("comparison", left, right, written, other)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _ARITHMETIC and not (_has_text(node.left) or _has_text(node.right)):
            self._between("arithmetic", node.left, node.right, *_ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _ARITHMETIC and not _has_text(node.value):
            written, other = _ARITHMETIC[type(node.op)]
            self._between("arithmetic", node.target, node.value, f"{written}=", f"{other}=")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        written, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("and/or", left, right, written, other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            start = self._place(node.lineno, node.col_offset)
            end = self._span(node.operand)[0] if isinstance(node.op, ast.USub) else start + len("not")
            self._add("not and signs", start, end, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        other = _other_constant(node.value)
        if other is not None:
            self._replace("constant", node, other)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        index = ast.unparse(node.slice)
        if index in ("0", "-1"):
            self._replace("first and last", node.slice, "-1" if index == "0" else "0")
            self.visit(node.value)
        else:
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._replace("return", node.value, "None")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _TYPING:
            return
        if isinstance(node.func, ast.Name) and node.func.id in _CALLS and node.args:
            if node.func.id == "sorted":
                self._replace("sorted", node, f"list({self._text(node.args[0])})")
            else:
                self._replace("min and max", node.func, _CALLS[node.func.id])
        self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in [*node.defaults, *node.kw_defaults]:
            if isinstance(default, ast.Constant):
                new = '""' if isinstance(default.value, str) and default.value else _other_constant(default.value)
                if new is not None:
                    self._replace("default", default, new)
            elif default is not None:
                self.visit(default)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and ast.unparse(node.annotation) not in _TYPING:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit(node.args)
        self._visit_all(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Messages; before Python 3.12 the places inside are wrong besides."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Text for people, not what is done."""

    def _visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _place(self, line: int, column: int) -> int:
        """Columns of syntax trees count bytes."""
        return self._lines[line - 1] + len(self._encoded[line - 1][:column].decode())

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self._source[start:end]

    def _replace(self, operator: str, node: ast.expr, new: str) -> None:
        self._add(operator, *self._span(node), new)

    def _between(self, operator: str, left: ast.expr, right: ast.expr, written: str, new: str) -> None:
        """The operator that is written between two operands: never one inside brackets or a comment."""
        after, before = self._span(left)[1], self._span(right)[0]
        there = [(start, text) for start, text in self._tokens if after <= start < before and text not in "()"]
        start = there[0][0]
        end = there[-1][0] + len(there[-1][1])
        assert " ".join(text for _, text in there) == written, (written, there)
        self._add(operator, start, end, new)

    def _add(self, operator: str, start: int, end: int, new: str) -> None:
        self.pieces.append(_Piece(operator, start, end, new))


def _has_text(node: ast.expr) -> bool:
    """Whether text is joined, or a path: a sum of texts has no difference, and any fault in it fails at once."""
    if isinstance(node, ast.BinOp):
        return _has_text(node.left) or _has_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _other_constant(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return "0" if value == 1 else str(value + 1)
    if isinstance(value, float):
        return repr(value + 1)
    return None


def chosen(every: Iterator[Mutation] | Sequence[Mutation], seed: int, count: int) -> list[Mutation]:
    """The first ``count`` in an order that the seed and each one's own text decide."""
    return sorted(every, key=lambda each: hashlib.sha256(f"{seed}:{each.id}".encode()).digest())[:count]
