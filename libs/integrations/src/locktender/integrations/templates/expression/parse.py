"""Tokens to a tree, by precedence, with a bound on depth."""

from collections.abc import Callable
from functools import lru_cache

from locktender.integrations.templates.expression.tokens import Token, TokenKind, tokens
from locktender.integrations.templates.expression.tree import (
    Binary,
    Call,
    Choice,
    Literal,
    Many,
    Member,
    Name,
    Node,
    Unary,
)
from locktender.integrations.templates.expression.values import ExpressionFault, Value

DEEPEST = 64
"""Parentheses, choices and signs inside one another, at most; some count twice."""

MOST_TOKENS = 300
"""Tokens of one expression, at most: the tree is never deeper than Python likes to go."""

_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"??"}),
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"===", "!==", "==", "!="}),
    frozenset({"<", ">", "<=", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None, "undefined": None}


@lru_cache(maxsize=512)
def parse(source: str) -> Node:
    """The tree of an expression.

    Raises:
        ExpressionFault: it is not of this language; the message says what stands where something else is needed.
    """
    found = list(tokens(source))
    if len(found) > MOST_TOKENS:
        raise ExpressionFault(f"it has more than {MOST_TOKENS} parts")
    return _Parser(found).whole()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._choice()
        if self._ahead.kind is not TokenKind.END:
            raise self._unexpected()
        return node

    @property
    def _ahead(self) -> Token:
        return self._tokens[self._place]

    def _choice(self) -> Node:
        with_depth = self._deeper(lambda: self._binary(0))
        if not self._take("?"):
            return with_depth
        then = self._deeper(self._choice)
        self._need(":")
        return Choice(with_depth, then, self._deeper(self._choice))

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._ahead.kind is TokenKind.MARK and self._ahead.text in _LEVELS[level]:
            mark = self._next().text
            left = Binary(mark, left, self._binary(level + 1))
        return left

    def _unary(self) -> Node:
        for mark in ("!", "-", "+"):
            if self._take(mark):
                return Unary(mark, self._deeper(self._unary))
        return self._postfix()

    def _postfix(self) -> Node:
        node = self._primary()
        while True:
            if self._take("."):
                node = Member(node, Literal(self._need_kind(TokenKind.NAME)))
            elif self._take("["):
                node = Member(node, self._deeper(self._choice))
                self._need("]")
            elif self._take("("):
                node = Call(node, self._items(")"))
            else:
                return node

    def _primary(self) -> Node:
        token = self._next()
        match token.kind:
            case TokenKind.NUMBER:
                return Literal(float(token.text))
            case TokenKind.TEXT:
                return Literal(token.text)
            case TokenKind.NAME:
                return Literal(_WORDS[token.text]) if token.text in _WORDS else Name(token.text)
            case TokenKind.MARK if token.text == "(":
                node = self._deeper(self._choice)
                self._need(")")
                return node
            case TokenKind.MARK if token.text == "[":
                return Many(self._items("]"))
            case TokenKind.MARK | TokenKind.END:
                self._place -= 1
                raise self._unexpected()

    def _items(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._take(end):
            if items:
                self._need(",")
            items.append(self._deeper(self._choice))
        return tuple(items)

    def _deeper(self, part: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionFault("it is nested too deeply")
        try:
            return part()
        finally:
            self._depth -= 1

    def _next(self) -> Token:
        token = self._ahead
        if token.kind is not TokenKind.END:
            self._place += 1
        else:
            self._place = len(self._tokens)
            self._tokens.append(token)
        return token

    def _take(self, mark: str) -> bool:
        if self._ahead != Token(TokenKind.MARK, mark):
            return False
        self._place += 1
        return True

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise self._unexpected(mark)

    def _need_kind(self, kind: TokenKind) -> str:
        if self._ahead.kind is not kind:
            raise self._unexpected(f"a {kind}")
        return self._next().text

    def _unexpected(self, wanted: str = "") -> ExpressionFault:
        token = self._ahead
        here = "the end" if token.kind is TokenKind.END else f"a {token.kind}"
        if token.kind in {TokenKind.MARK, TokenKind.NAME}:
            here = f"`{token.text[:40]}`"
        return ExpressionFault(f"{here} stands where {wanted or 'a value'} is needed")
