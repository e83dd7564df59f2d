"""What is wrong with a template, and where."""

from locktender.contracts.kernel.errors import Finding, LocktenderError, Pointer


class TemplateFault(LocktenderError):
    """A template that cannot be used as it is. `line` counts from 1; 0 is the whole of it."""

    def __init__(self, code: str, problem: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.code = code
        self.problem = problem
        self.line = line

    def finding(self, pointer: str) -> Finding:
        """The fault as a part of an answer."""
        return Finding(Pointer(pointer), str(self), self.code)
