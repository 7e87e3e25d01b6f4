"""The command line: arguments in, report out. One file for each command."""

from . import count, demo, policies, precision, profile, reproduce, simulate
from .program import app, main

__all__ = ["app", "main"]

app.command()(simulate.simulate)
app.command()(profile.profile)
app.command()(policies.policies)
app.command()(count.count)
app.command()(demo.demo)
app.command()(reproduce.reproduce)
app.add_typer(precision.precision, name="precision")
