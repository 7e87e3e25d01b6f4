"""The width rules: one file each, and `ALL` as the only registry."""

from ...core.options import nearest, read_options
from ...errors import BadInput
from ..costs import Costs, make_costs
from ..rule import Rule, Tuned
from .adaptive import ADAPTIVE
from .divergence import DIVERGENCE
from .exact import EXACT
from .growing import GROWING
from .majority import MAJORITY
from .settling import SETTLING
from .static import STATIC
from .uncentred import UNCENTRED

ALL: tuple[Rule, ...] = (
    ADAPTIVE,
    SETTLING,
    STATIC,
    UNCENTRED,
    GROWING,
    MAJORITY,
    EXACT,
    DIVERGENCE,
)

__all__ = ["ALL", "tune"]


def tune(text: str, costs: Costs | None = None) -> Tuned:
    """Return the rule that is asked for as `NAME` or `NAME:key=value,...`, ready for these costs.

    >>> tune("adaptive:alpha=0.1,tau_inf=inf").par.factor
    1.1
    >>> tune("adaptiv")
    Traceback (most recent call last):
    penstock.errors.BadInput: unknown rule 'adaptiv'; did you mean 'adaptive'? Known: adaptive, ...
    """
    name, _, options = text.strip().partition(":")
    rules = {rule.name: rule for rule in ALL}
    if name not in rules:
        raise BadInput(f"unknown rule {name!r}; {nearest(name, list(rules))}")
    rule = rules[name]
    params = read_options(f"rule {name!r}", options, rule.parameters)
    written = ",".join(f"{key}={value}" for key, value in params.items())
    par = rule.make(costs or make_costs(), **params)
    return Tuned(rule, par, f"{name}:{written}" if written else name)
