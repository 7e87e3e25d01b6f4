"""The flat tables that HEEB's hooks read, made from models that are given or fitted."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import BadInput
from ..kernel.gains import KINDS, LEVEL, SEASON, UNKNOWN
from ..kernel.policy import CACHING, Setup, check_choice
from ..kernel.recent import History, recent

if TYPE_CHECKING:  # models are imported where they are used: most joins never need them
    from ..models.benefit import BenefitTable

GIVEN, LIFETIME, FEEDBACK = range(3)  # how alpha is chosen
STEPS = 7  # alphas that feedback tries
MOST = 64.0  # the largest of them, at least
FAMILIES = ("auto", "stationary", "trend", "walk", "ar1", "seasonal")
LEAST = 256  # arrivals before models are fitted for the first time
SPAN = 1 << 16  # cells that a model found while it runs may span: a fit then takes some 10 MB
SELDOM = 32_768  # arrivals between two fits, when the stream has become long
NEVER = 2**62
PHASES = 512  # points of a season


class FitPlan(NamedTuple):
    """The parameters as numbers, and the number of arrivals until the next fit."""

    wait: np.ndarray  # int64[1]
    attributes: np.ndarray  # int64[1]: of each stream
    awaited: np.ndarray  # bool[series]: some tuple can match it
    family: np.ndarray  # int64[1]: a place in FAMILIES
    kind: np.ndarray  # int64[1]: a place in KINDS, of L
    scale: np.ndarray  # float64[alphas]: alpha, or steps
    period: np.ndarray  # float64[1]: of a season; 0: to be found
    caching: np.ndarray  # bool[1]
    discounts: np.ndarray  # bool[1]: L is exp, so windows can be taken into account


class BenefitTables(NamedTuple):
    """The tables of all series, one after the other."""

    form: np.ndarray  # int64[series]
    numbers: np.ndarray  # float64[series, 7]
    shape: np.ndarray  # int64[series, 3]: phases, last values, values
    start: np.ndarray  # int64[series, alphas]: where a layer begins in worth
    worth: np.ndarray  # float64[n]
    first_key: np.ndarray  # int64[series + 1]: where the keys of a series begin in key
    key: np.ndarray  # int64[n]: values of stationary streams, in order
    season: np.ndarray  # float64[series, PHASES]: the mean value by phase


def grid(scale: int) -> np.ndarray:
    """Return the alphas worth trying for a memory of `scale` tuples: 1, 2, 4, ... 64, or wider.

    >>> grid(10).tolist()
    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    """
    return np.geomspace(1.0, max(MOST, 2.0 * scale), STEPS).round(9)


def read_alphas(
    setup: Setup, lasting: str, alpha: str, lifetime: float | None, steps: int
) -> tuple[np.ndarray, int]:
    """Return the alphas (or the steps of a fixed L) to have tables for, and how one is chosen."""
    from ..models.benefit import Lasting, alpha_of

    check_choice("heeb", "L", lasting, KINDS)
    if lasting != "exp":
        scale = float(steps if lasting == "fixed" else 1)
        return np.array([Lasting(lasting, scale).scale]), GIVEN
    if lifetime is not None:
        return np.array([alpha_of(lifetime)]), GIVEN
    if alpha == "auto":
        return grid(setup.scale), FEEDBACK if setup.shape.is_plain else LIFETIME
    if alpha == "lifetime":
        return np.geomspace(1, max(MOST, 2.0 * setup.scale), 15), LIFETIME
    try:
        return np.array([Lasting("exp", float(alpha)).scale]), GIVEN
    except ValueError as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            "parameter 'alpha' of policy 'heeb' must be a number above 0, auto or lifetime, got "
            f"{alpha!r}"
        ) from None


def make_plan(
    setup: Setup, alphas: np.ndarray, model: str, lasting: str, period: float | None, fit: str
) -> FitPlan:
    """Return the plan; a model that is given beforehand is never fitted."""
    check_choice("heeb", "model", model, FAMILIES)
    check_choice("heeb", "fit", fit, ("running", "before"))
    shape = setup.shape
    awaited = np.zeros((shape.streams, shape.attributes), np.bool_)
    for join in shape.joins:
        for stream, attribute in join:
            awaited[stream, attribute] = True
    if setup.problem == CACHING:
        awaited[0] = False  # no tuple matches rows of the relation
    elif lasting in ("inf", "inv"):
        raise BadInput(
            f"parameter 'L' of policy 'heeb' must be exp or fixed for joining, got {lasting!r}"
        )
    knows = setup.models is not None and (model == "auto" or fit == "before")
    return FitPlan(
        np.array([NEVER if knows else LEAST]),
        np.array([shape.attributes]),
        awaited.ravel(),
        np.array([FAMILIES.index(model)]),
        np.array([KINDS.index(lasting)]),
        alphas,
        np.array([period or 0.0]),
        np.array([setup.problem == CACHING]),
        np.array([lasting == "exp"]),
    )


def starting_tables(setup: Setup, plan: FitPlan) -> BenefitTables:
    """Return the tables of the models that are given, or empty ones."""
    found: list[tuple[Any, BenefitTable] | None] = [None] * len(plan.awaited)
    if setup.models is not None and plan.wait[0] == NEVER:
        if setup.shape.attributes > 1 or len(setup.models) != setup.shape.streams:
            raise BadInput(
                f"models must be one for each of {setup.shape.streams} streams of one attribute, "
                f"got {len(setup.models)} for {setup.shape.attributes} attributes"
            )
        for series in np.flatnonzero(plan.awaited):
            found[series] = setup.models[series], _table(plan, setup.models[series])
    return _flat(plan, found)


def _table(plan: FitPlan, model: Any) -> "BenefitTable":
    from ..models.benefit import Lasting, tabulate

    lastings = [Lasting(KINDS[plan.kind[0]], float(scale)) for scale in plan.scale]
    return tabulate(model, lastings, bool(plan.caching[0]))


def _flat(plan: FitPlan, found: "list[tuple[Any, BenefitTable] | None]") -> BenefitTables:
    """Return the tables of all series in arrays; nothing is known of a series without a model."""
    series, layers = len(found), len(plan.scale)
    tables = BenefitTables(
        np.full(series, UNKNOWN),
        np.zeros((series, 7)),
        np.ones((series, 3), np.int64),
        np.zeros((series, layers), np.int64),
        np.zeros(0),
        np.zeros(series + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros((series, PHASES)),
    )
    worth: list[np.ndarray] = [np.zeros(0)]
    keys: list[np.ndarray] = [np.zeros(0, np.int64)]
    for number, known in enumerate(found):
        if known is not None:
            model, table = known
            tables.form[number] = table.form
            tables.numbers[number] = table.numbers
            tables.shape[number] = table.worth.shape[1:]
            size = table.worth[0].size
            tables.start[number] = sum(map(len, worth)) + size * np.arange(layers)
            worth.append(table.worth.ravel())
            keys.append(table.keys)
            if table.form == SEASON:
                phase = np.arange(PHASES) * model.period / PHASES
                tables.season[number] = model.season(phase)
        tables.first_key[number + 1] = sum(map(len, keys))
    return tables._replace(worth=np.concatenate(worth), key=np.concatenate(keys))


def fitted_tables(plan: FitPlan, history: History) -> BenefitTables:
    """Return tables of models fitted to the last arrivals, and plan the next fit."""
    found = [
        _fitted(plan, history, series) if plan.awaited[series] else None
        for series in range(len(plan.awaited))
    ]
    arrived = int(history.arrived.sum()) // int(plan.attributes[0])
    plan.wait[0] = max(LEAST, min(arrived, SELDOM))
    return _flat(plan, found)


def _fitted(plan: FitPlan, history: History, series: int) -> "tuple[Any, BenefitTable] | None":
    from ..models import Trend
    from ..models.cells import spanning

    data = recent(history, series)
    try:
        with spanning(SPAN):
            model = fit_family(FAMILIES[plan.family[0]], data, float(plan.period[0]) or None)
            table = _table(plan, model)
    except BadInput:  # too short, constant, or of another family: nothing is known of it
        return None
    first = int(history.arrived[series]) - len(data)  # the model's step 0, in arrivals
    if table.form == SEASON:
        table.numbers[LEVEL] = first
    elif isinstance(model, Trend):
        table.numbers[LEVEL] -= model.slope * first
    return model, table


def fit_family(family: str, data: np.ndarray, period: float | None) -> Any:
    """Return the model of a family, or of the best one, that suits whole numbers best."""
    from ..models import Ar1, Seasonal, Stationary, Trend, Walk, best

    if family == "auto":
        return best(data, period=period).model
    if family == "seasonal":
        return Seasonal.fit(data, period=period).model
    if family == "trend":
        fits = [Trend.fit(data, noise=noise) for noise in ("normal", "uniform")]
        return min(fits, key=lambda fit: fit.bic).model
    simple: dict[str, Any] = {"stationary": Stationary, "walk": Walk, "ar1": Ar1}
    return simple[family].fit(data).model
