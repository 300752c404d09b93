"""The one error of reading a workflow file: what is wrong, and where."""


class WorkflowYamlError(ValueError):
    """A workflow file that cannot be read.

    Attributes:
        message: what is wrong, without the place.
        line: 1-based line.
        column: 1-based column, in characters.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"
