"""The small language between `${{` and `}}`: values, comparisons, a few string methods. No loops, no state."""

from locktender.integrations.templates.expression.evaluate import Scope, evaluate
from locktender.integrations.templates.expression.parse import parse
from locktender.integrations.templates.expression.values import ExpressionFault, Meter, Value, as_text, truthy

__all__ = ["ExpressionFault", "Meter", "Scope", "Value", "as_text", "evaluate", "parse", "truthy"]
