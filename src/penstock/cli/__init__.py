"""The command line: arguments in, report out.

`program` has the groups of commands and how errors are printed, `output` the options and the ways
to print that all commands share. The others are the commands, one or a few in a file:
`simulate_command` has `policies` too, `stream_commands` has `profile`, `count` and `advise`,
`query_commands` has `run`, `init`, `report` and `reconcile`, `precision_commands` the group of this
name. `readings` reads what `precision source` publishes; `weather` is the data and the pictures of
`demo precision`.
"""

from .demo_command import demo
from .precision_commands import precision
from .program import app, main
from .query_commands import init, reconcile, report, run
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
