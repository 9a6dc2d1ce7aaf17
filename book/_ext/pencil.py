"""Pencil exercises as the page judges them: each exercise's own `judge`, as data.

A page that was opened as a file runs no Python. So the judge's source is read, what it computes
without the answer (the right number, the foreseen wrong ones) is computed here, and the rest
becomes lists that ``widgets/js/pencil/judge.js`` walks through. What the lists have no word for
stops the build, and a test compares page and Python.
"""

from __future__ import annotations

import ast
import base64
import builtins
import inspect
import json
import math
import operator
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise

# What the page can call, under the name that it has there.
CALLS: dict[Any, str] = {
    abs: "abs", min: "min", max: "max", int: "int", float: "float",
    math.ceil: "ceil", math.floor: "floor", math.exp: "exp", math.log: "log", math.sqrt: "sqrt",
}  # fmt: skip
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//",
    ast.Mod: "%", ast.USub: "neg", ast.Not: "not", ast.And: "and", ast.Or: "or",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
COMPARED = {operator.eq: ["==", ["get", "0"], ["get", "1"]]}


class Unknown(Exception):
    """Something in a judge that the page has no word for."""


def constant(value: Any) -> Any:
    """A computed value as it stands in the lists; texts and numbers stand for themselves."""
    if isinstance(value, float) and not math.isfinite(value):
        return ["far"] if value > 0 else ["neg", ["far"]]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "item"):  # a number of NumPy
        return constant(value.item())
    raise Unknown(f"the value {value!r:.60}")


class Reader:
    """One function on its way into lists.

    Parameters
    ----------
    function : callable
        A judge, or a function that it calls. Of a `partial` the first values are known.
    inputs : dict
        What is given to the judge beside the answer.
    """

    def __init__(self, function: Callable[..., Any], inputs: dict[str, Any]) -> None:
        given = function.args if isinstance(function, partial) else ()
        function = function.func if isinstance(function, partial) else function
        if not inspect.isfunction(function):
            raise Unknown(f"a call of {function!r:.60}")
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise Unknown("a function without a name")
        self.tree, self.inputs = tree, inputs
        self.names: dict[str, Any] = {**vars(builtins), **function.__globals__}
        names = [argument.arg for argument in tree.args.args]
        self.names |= dict(zip(names, given, strict=False))
        self.parameters = names[len(given) :]
        self.local = {*self.parameters, *self._assigned()}

    def _assigned(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id

    def read(self) -> list[Any]:
        """The body as a list of statements."""
        return self.block(self.tree.body)

    def block(self, body: list[ast.stmt]) -> list[Any]:
        """Statements in their order; the docstring is none."""
        return [s for node in body if (s := self.statement(node)) is not None]

    def statement(self, node: ast.stmt) -> list[Any] | None:
        """One statement."""
        match node:
            case ast.Expr(ast.Constant()):
                return None
            case ast.Return():
                return ["return", self.term(node.value) if node.value else None]
            case ast.If():
                return ["if", self.term(node.test), self.block(node.body), self.block(node.orelse)]
            case ast.Assign(targets=[ast.Name(name)]):
                return ["set", name, self.term(node.value)]
            case ast.Assign(targets=[ast.Tuple(elts)]):
                return ["unpack", [ast.unparse(name) for name in elts], self.term(node.value)]
        raise Unknown(ast.unparse(node))

    def known(self, node: ast.expr) -> bool:
        """Whether a term does without the answer."""
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return not names & self.local

    def value(self, node: ast.expr) -> Any:
        """What such a term is."""
        return eval(compile(ast.Expression(node), "<judge>", "eval"), self.names)

    def term(self, node: ast.expr) -> Any:
        """One expression: its value where that is known, else what the page computes."""
        if self.known(node):
            return constant(self.value(node))
        match node:
            case ast.Name(name):
                return ["get", name]
            case ast.NamedExpr(ast.Name(name), value):
                return ["let", name, self.term(value)]
            case ast.BinOp(left, sign, right):
                return [SIGNS[type(sign)], self.term(left), self.term(right)]
            case ast.UnaryOp(sign, operand):
                return [SIGNS[type(sign)], self.term(operand)]
            case ast.BoolOp(sign, values):
                return [SIGNS[type(sign)], *map(self.term, values)]
            case ast.Compare():
                return self.compared(node)
            case ast.IfExp(test, body, orelse):
                return ["choose", self.term(test), self.term(body), self.term(orelse)]
            case ast.Tuple(elts):
                return ["tuple", *map(self.term, elts)]
            case ast.JoinedStr(values):
                return ["text", *map(self.piece, values)]
            case ast.Subscript(ast.Name("outputs"), ast.Constant("answer")):
                return ["get", "answer"]
            case ast.Subscript(ast.Name("inputs"), ast.Constant(name)) if name in self.inputs:
                return constant(self.inputs[name])
            case ast.Call(func, args, []):
                return self.called(self.value(func), args)
        raise Unknown(ast.unparse(node))

    def compared(self, node: ast.Compare) -> list[Any]:
        """A comparison, also one of several in a row."""
        sides = [self.term(side) for side in (node.left, *node.comparators)]
        signs = [SIGNS[type(sign)] for sign in node.ops]
        pairs = [[s, a, b] for s, a, b in zip(signs, sides, sides[1:], strict=False)]
        return pairs[0] if len(pairs) == 1 else ["and", *pairs]

    def piece(self, node: ast.expr) -> Any:
        """A part of a text: words, or a number and how it is written."""
        match node:
            case ast.FormattedValue(value, -1, spec):
                written = self.value(spec) if spec else ""
                if self.known(value):
                    return format(self.value(value), written)
                return ["show", self.term(value), written]
        return self.term(node)

    def called(self, function: Any, arguments: list[ast.expr]) -> list[Any]:
        """A call: of what the page has, of a comparison, or of another function as lists."""
        if function is explain:
            value, guesses, same = arguments
            pairs = [[constant(guess), idea] for guess, idea in self.value(guesses)]
            return ["explain", self.term(value), pairs, comparison(self.value(same))]
        given = [self.term(argument) for argument in arguments]
        if function in CALLS:
            return [CALLS[function], *given]
        if function in COMPARED or isinstance(function, partial):
            return ["call", ["0", "1"], [["return", comparison(function)]], *given]
        inner = Reader(function, {})
        return ["call", inner.parameters, inner.read(), *given]


def comparison(same: Any) -> list[Any]:
    """When two numbers are the same, as a term of the numbers called 0 and 1."""
    if same in COMPARED:
        return COMPARED[same]
    if isinstance(same, partial) and same.func is math.isclose and not same.args:
        rel, absolute = same.keywords.get("rel_tol", 1e-9), same.keywords.get("abs_tol", 0.0)
        return ["close", ["get", "0"], ["get", "1"], rel, absolute]
    inner = Reader(same, {})
    return ["call", inner.parameters, inner.read(), ["get", "0"], ["get", "1"]]


def judge_of(task: Exercise) -> list[Any]:
    """The judge of a pencil exercise as lists.

    Parameters
    ----------
    task : Exercise
        A pencil exercise.

    Returns
    -------
    list
        Statements, each a list whose first item says what it is.

    Raises
    ------
    ValueError
        If the judge holds what the page has no word for.
    """
    (inputs,) = task.cases(None)["by hand"]  # type: ignore[arg-type]
    try:
        return Reader(task.judge, inputs).read()
    except (Unknown, KeyError) as what:
        raise ValueError(f"{task.id}: the page cannot judge {what}") from None


def scrambled(text: str, key: str) -> str:
    """A text that is not read by looking at it; ``readable`` in judge.js undoes this."""
    state = sum(key.encode())
    mixed = bytearray()
    for byte in text.encode():
        state = (state * 75 + 74) % 65537
        mixed.append(byte ^ (state & 255))
    return base64.b64encode(mixed).decode()


def page_data(task: Exercise) -> str:
    """What the page needs to judge an exercise, as JSON.

    The numbers of an assessed one are scrambled: they are not given away to who looks at the
    page's source. That is no secret, and no digest would be one where a loop can try all
    numbers: `judge` is in the package too, and what earns a grade is checked by the teacher.
    """
    judge: Any = judge_of(task)
    if task.assessed:
        judge = scrambled(json.dumps(judge), task.id)
    data = {
        "id": task.id, "page": task.page, "title": task.title, "points": task.points,
        "unit": task.unit, "judge": judge,
    }  # fmt: skip
    # "</script>" inside the data would end the element that carries it.
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
