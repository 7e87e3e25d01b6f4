"""The command line: arguments in, report out.

`program` has the groups of commands and how errors are printed, `output` the options and the ways
to print that all commands share. The commands: `simulate` (and `policies`), `profile` (and
`count`), `advise`, `run`, `init`, `reconcile`, `demo`, `warm`, `report` (of a query), `precision`
(rules simulated and replayed) and `mqtt` (the other commands of `precision`). `readings` reads what
`source` publishes; `weather` is the data and the pictures of `demo precision`.
"""

from . import advise, demo, init, mqtt, precision, profile, reconcile, report, run, simulate, warm
from .program import app, main

__all__ = ["app", "main"]

for command in (  # in the order of the help
    *(simulate.simulate, profile.profile, advise.advise, run.run, init.init, simulate.policies),
    *(profile.count, demo.demo, warm.warm, report.report, reconcile.reconcile),
):
    app.command()(command)
app.add_typer(precision.precision, name="precision")
for live in (mqtt.source, mqtt.query, mqtt.broker):
    precision.precision.command()(live)
