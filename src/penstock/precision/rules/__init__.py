"""The width rules, and `ALL` as the only registry: the contract is in `precision/rule.py`."""

from ...kernel.options import check_word, own_parameters, read_options
from ..rule import Costs, Tuned
from .published import ADAPTIVE, DIVERGENCE, EXACT, GROWING, MAJORITY, STATIC, UNCENTRED
from .settling import SETTLING

# The last two are for simulations only.
ALL = (ADAPTIVE, SETTLING, STATIC, UNCENTRED, GROWING, MAJORITY, EXACT, DIVERGENCE)

__all__ = ["ALL", "tune"]


def tune(text: str, costs: Costs | None = None) -> Tuned:
    """Return the rule that is written as `NAME` or `NAME:key=value,...`, ready for these costs.

    >>> tune("adaptive:alpha=0.1,tau_inf=inf").par.factor
    1.1
    >>> tune("adaptiv")
    Traceback (most recent call last):
    penstock.errors.BadInput: unknown rule 'adaptiv'; did you mean 'adaptive'? Known: adaptive, ...
    """
    name, _, options = text.strip().partition(":")
    rules = {rule.name: rule for rule in ALL}
    check_word("rule", name, rules)
    rule = rules[name]
    params = read_options(f"rule {name!r}", options, own_parameters(rule.make))
    written = ",".join(f"{key}={value}" for key, value in params.items())
    par = rule.make(costs or Costs(), **params)
    return Tuned(rule, par, f"{name}:{written}" if written else name)
