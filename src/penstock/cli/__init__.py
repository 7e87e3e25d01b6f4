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

app.command()(simulate.simulate)
app.command()(profile.profile)
app.command()(advise.advise)
app.command()(run.run)
app.command()(init.init)
app.command()(simulate.policies)
app.command()(profile.count)
app.command()(demo.demo)
app.command()(warm.warm)
app.command()(report.report)
app.command()(reconcile.reconcile)
app.add_typer(precision.precision, name="precision")
precision.precision.command()(mqtt.source)
precision.precision.command()(mqtt.query)
precision.precision.command()(mqtt.broker)
