"""From models to the flat tables that HEEB's hooks read, and when to fit models anew."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.history import History, recent
from ..core.policy import CACHING, Setup, check_choice
from ..core.worth import KINDS, LEVEL, SEASON, UNKNOWN
from ..errors import BadInput
from .alphas import FEEDBACK, GIVEN, LIFETIME, grid

if TYPE_CHECKING:  # models bring much of SciPy along, which most joins never need
    from ..models.benefit import Lasting
    from ..models.curves import Table

FAMILIES = ("auto", "stationary", "trend", "walk", "ar1", "seasonal")
LEAST = 256  # arrivals before models are fitted for the first time
SPAN = 1 << 16  # cells that a model found while it runs may span: a fit then takes some 10 MB
SELDOM = 32_768  # arrivals between two fits, when the stream has become long
NEVER = 2**62
PHASES = 512  # points of a season


class Plan(NamedTuple):
    """What was asked for, in numbers, and how many arrivals it is to the next fit."""

    wait: np.ndarray  # int64[1]
    attributes: np.ndarray  # int64[1]: of each stream
    awaited: np.ndarray  # bool[series]: somebody waits for it
    family: np.ndarray  # int64[1]: a place in FAMILIES
    kind: np.ndarray  # int64[1]: a place in KINDS, of L
    scale: np.ndarray  # float64[alphas]: alpha, or steps
    period: np.ndarray  # float64[1]: of a season; 0: to be found
    caching: np.ndarray  # bool[1]
    discounts: np.ndarray  # bool[1]: L is exp, so that windows can be taken into account


class Tables(NamedTuple):
    """The tables of all series, one behind the other."""

    form: np.ndarray  # int64[series]
    numbers: np.ndarray  # float64[series, 7]
    shape: np.ndarray  # int64[series, 3]: phases, last values, values
    start: np.ndarray  # int64[series, alphas]: where a layer begins in worth
    worth: np.ndarray  # float64[n]
    first_key: np.ndarray  # int64[series + 1]: where the keys of a series begin in key
    key: np.ndarray  # int64[n]: values of stationary streams, in order
    season: np.ndarray  # float64[series, PHASES]: the mean value by phase


class Wishes(NamedTuple):
    """The parameters of the policy that concern alpha."""

    scale: np.ndarray
    mode: int


def read_wishes(
    setup: Setup, lasting: str, alpha: str, lifetime: float | None, steps: int
) -> Wishes:
    """Return the alphas to have tables for, and who chooses among them."""
    from ..models.benefit import Lasting, alpha_of

    check_choice("heeb", "L", lasting, KINDS)
    if lasting != "exp":
        scale = float(steps if lasting == "fixed" else 1)
        return Wishes(np.array([Lasting(lasting, scale).scale]), GIVEN)
    if lifetime is not None:
        return Wishes(np.array([alpha_of(lifetime)]), GIVEN)
    if alpha == "auto":
        return Wishes(grid(setup.scale), FEEDBACK if setup.shape.is_plain else LIFETIME)
    if alpha == "lifetime":
        return Wishes(np.geomspace(1, max(64.0, 2.0 * setup.scale), 15), LIFETIME)
    try:
        return Wishes(np.array([Lasting("exp", float(alpha)).scale]), GIVEN)
    except ValueError as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            "parameter 'alpha' of policy 'heeb' must be a number above 0, auto or lifetime, got "
            f"{alpha!r}"
        ) from None


def make_plan(
    setup: Setup, wishes: Wishes, model: str, lasting: str, period: float | None, fit: str
) -> Plan:
    """Return the plan; a model that is given beforehand is never fitted."""
    check_choice("heeb", "model", model, FAMILIES)
    check_choice("heeb", "fit", fit, ("running", "before"))
    shape = setup.shape
    awaited = np.zeros((shape.streams, shape.attributes), np.bool_)
    for join in shape.joins:
        for stream, attribute in join:
            awaited[stream, attribute] = True
    if setup.problem == CACHING:
        awaited[0] = False  # nobody waits for rows of the relation
    elif lasting in ("inf", "inv"):
        raise BadInput(
            f"parameter 'L' of policy 'heeb' must be exp or fixed for joining, got {lasting!r}"
        )
    knows = setup.models is not None and (model == "auto" or fit == "before")
    return Plan(
        np.array([NEVER if knows else LEAST]),
        np.array([shape.attributes]),
        awaited.ravel(),
        np.array([FAMILIES.index(model)]),
        np.array([KINDS.index(lasting)]),
        wishes.scale,
        np.array([period or 0.0]),
        np.array([setup.problem == CACHING]),
        np.array([lasting == "exp"]),
    )


def starting_tables(setup: Setup, plan: Plan) -> Tables:
    """Return the tables of the models that are given, or empty ones."""
    from ..models.curves import tabulate

    made: list[Table | None] = [None] * len(plan.awaited)
    seasons: list[Any] = [None] * len(plan.awaited)
    if setup.models is not None and plan.wait[0] == NEVER:
        if setup.shape.attributes > 1 or len(setup.models) != setup.shape.streams:
            raise BadInput(
                f"models must be one for each of {setup.shape.streams} streams of one attribute, "
                f"got {len(setup.models)} for {setup.shape.attributes} attributes"
            )
        for series, model in enumerate(setup.models):
            if plan.awaited[series]:
                made[series] = tabulate(model, _lastings(plan), bool(plan.caching[0]))
                seasons[series] = model
    return _flat(plan, made, seasons)


def _lastings(plan: Plan) -> "list[Lasting]":
    from ..models.benefit import Lasting

    return [Lasting(KINDS[plan.kind[0]], float(scale)) for scale in plan.scale]


def _flat(plan: Plan, made: "list[Table | None]", models: list[Any]) -> Tables:
    series, layers = len(made), len(plan.scale)
    tables = Tables(
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
    filled = 0
    for number, table in enumerate(made):
        if table is not None:
            tables.form[number] = table.form
            tables.numbers[number] = table.numbers
            tables.shape[number] = table.worth.shape[1:]
            size = int(np.prod(table.worth.shape[1:]))
            tables.start[number] = filled + size * np.arange(layers)
            worth.append(table.worth.ravel())
            filled += size * layers
            keys.append(table.keys)
            if table.form == SEASON:
                model = models[number]
                phase = np.arange(PHASES) * model.period / PHASES
                tables.season[number] = model.season(phase) / model.unit
        tables.first_key[number + 1] = sum(map(len, keys))
    return tables._replace(worth=np.concatenate(worth), key=np.concatenate(keys))


def arrivals_left(plan: Plan) -> int:
    """Return how many arrivals it is to the next fit."""
    return int(plan.wait[0])


def rethink(tables: Tables, plan: Plan, history: History) -> Tables:
    """Return tables of models fitted to what came lately; without a fit, as little as before."""
    made: list[Table | None] = []
    models: list[Any] = []
    for series in range(len(plan.awaited)):
        model, table = None, None
        if plan.awaited[series]:
            model, table = _fitted(plan, history, series)
        models.append(model)
        made.append(table)
    arrived = int(history.arrived.sum()) // int(plan.attributes[0])
    plan.wait[0] = max(LEAST, min(arrived, SELDOM))
    return _flat(plan, made, models)


def _fitted(plan: Plan, history: History, series: int) -> "tuple[Any, Table | None]":
    from ..models import Trend
    from ..models.cells import spanning
    from ..models.curves import tabulate

    data = recent(history, series)
    try:
        with spanning(SPAN):
            model = fit_family(FAMILIES[plan.family[0]], data, float(plan.period[0]) or None)
            table = tabulate(model, _lastings(plan), bool(plan.caching[0]))
    except BadInput:  # too short, constant, or of another family: nothing is known of it
        return None, None
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
        return best(data, period=period, unit=1).fit.model
    if family == "seasonal":
        return Seasonal.fit(data, period=period, unit=1).model
    if family == "trend":
        fits = [Trend.fit(data, noise=noise, unit=1) for noise in ("normal", "uniform")]
        return min(fits, key=lambda fit: fit.bic).model
    simple: dict[str, Any] = {"stationary": Stationary, "walk": Walk, "ar1": Ar1}
    return simple[family].fit(data, unit=1).model
