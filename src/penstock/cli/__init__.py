"""The command line: arguments in, report out.

`program` has the groups of commands and how errors are printed, `output` the options and the ways
to print that all commands share. The others are the commands:

- `policy_commands`: `simulate`, `policies`, `warm`.
- `stream_commands`: `profile`, `count`, `advise`.
- `query_commands`: `run`, `init`, `report`, `reconcile`.
- `precision_commands`: the group of this name. `readings` reads what `precision source` publishes.
- `demo_command`: `demo`. `weather` is the data and the pictures of `demo precision`.
"""

from .demo_command import demo
from .policy_commands import policies, simulate, warm
from .precision_commands import precision
from .program import app, main
from .query_commands import init, reconcile, report, run
from .stream_commands import advise, count, profile

__all__ = ["app", "main"]

# In the order of the help.
for command in (
    *(simulate, profile, advise, run, init, policies),
    *(count, demo, warm, report, reconcile),
):
    app.command()(command)
app.add_typer(precision, name="precision")
