"""The one error of the expression language: what is wrong, in which expression, at which column.

Knows nothing of values: a message never holds the content of a context, which may be a secret.
"""

_SHOWN_CHARS = 200


class ExpressionError(ValueError):
    """An expression that cannot be parsed or evaluated.

    Attributes:
        message: what is wrong, without the position.
        expression: the text between the braces, or the whole condition.
        position: 1-based column in ``expression``, in characters; line breaks count as one.
    """

    def __init__(self, message: str, expression: str, position: int) -> None:
        super().__init__(message, expression, position)
        self.message = message
        self.expression = expression
        self.position = position

    def __str__(self) -> str:
        return f'{self.message} at column {self.position} of expression "{self._excerpt()}"'

    def _excerpt(self) -> str:
        """One printable line around the position; every character keeps its column."""
        start = max(0, self.position - _SHOWN_CHARS // 2) if len(self.expression) > _SHOWN_CHARS else 0
        shown = self.expression[start : start + _SHOWN_CHARS]
        line = "".join(char if char.isprintable() else " " for char in shown)
        return ("…" if start else "") + line + ("…" if start + _SHOWN_CHARS < len(self.expression) else "")
