"""The language of compute tools: arithmetic and data over JSON values. It is no Python.

    a ? b : c   a if b else c   or ||   and &&   not !   == != < <= > >= in   + -   * / // %   ^ **
    1.5   "text"   true false null   [1, 2]   {"a": 1}   input.order.lines[0]   sum(pluck(lines, "price"))

`input` is the input; its fields can also be named alone. A dot looks up a key and nothing else. There are no
loops, assignments, methods or functions of one's own. Every node costs steps, and every value has a bound.

The package stands alone and uses nothing but the standard library: a child process without the rest of the
house loads it from its folder, which is why its modules name each other relatively.
"""

from .evaluating import evaluate
from .values import ExpressionError

__all__ = ["ExpressionError", "evaluate"]
