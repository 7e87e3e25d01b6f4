"""The command line: arguments in, report out. One file for each command."""

from . import (
    advise,
    broker,
    count,
    demo,
    policies,
    precision,
    profile,
    query,
    simulate,
    source,
)
from .program import app, main

__all__ = ["app", "main"]

app.command()(simulate.simulate)
app.command()(profile.profile)
app.command()(advise.advise)
app.command()(policies.policies)
app.command()(count.count)
app.command()(demo.demo)
app.add_typer(precision.precision, name="precision")
precision.precision.command()(source.source)
precision.precision.command()(query.query)
precision.precision.command()(broker.broker)
