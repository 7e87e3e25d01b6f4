"""The command line: arguments in, report out.

`program` has the groups of commands and how errors are printed, `output` the options and the ways
to print that all commands share. The others are the commands, one or a few in a file:
`simulate_command` has `policies` too, `stream_commands` has `profile`, `count` and `advise`,
`precision_command` rules simulated and replayed, and `mqtt_commands` the other commands of
`precision`. `readings` reads what `source` publishes; `weather` is the data and the pictures of
`demo precision`.
"""

from .demo_command import demo
from .mqtt_commands import broker, query, source
from .pipeline_commands import init, run
from .precision_command import precision
from .program import app, main
from .query_commands import reconcile, report
from .simulate_command import policies, simulate
from .stream_commands import advise, count, profile
from .warm_command import warm

__all__ = ["app", "main"]

# In the order of the help.
for command in (
    *(simulate, profile, advise, run, init, policies),
    *(count, demo, warm, report, reconcile),
):
    app.command()(command)
app.add_typer(precision, name="precision")
for live in (source, query, broker):
    precision.command()(live)
