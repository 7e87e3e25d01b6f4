"""The program: its commands, how it reports errors and how it ends."""

import logging
import multiprocessing
import os
import re
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import PenstockError

LONGEST = 2000  # characters of an error, which may quote what a file holds

# The base of all errors about arguments: Click's own, or that of the copy in newer Typers.
_UsageError: Any = typer.BadParameter.__mro__[2]


class Commands(TyperGroup):
    """Commands whose errors are one sentence on standard error, and exit code 2."""

    program = "penstock"  # the name before the sentence

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except PenstockError as error:
            code = self._say(self._with_dashes(str(error)))
        except _UsageError as error:
            code = self._say(error.format_message())
        except MemoryError:
            code = self._say(
                "this takes more memory than there is; try a smaller --length or --memory"
            )
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        sys.exit(code if isinstance(code, int) else 0)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a command, and keep its help from saying that flags are of type bool."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _hide_types_of_flags(found.get_params(ctx))
        return found

    def get_params(self, ctx: Any) -> Any:
        """Return the program's own options."""
        return _hide_types_of_flags(super().get_params(ctx))

    def _with_dashes(self, sentence: str) -> str:
        """Name options as they are typed: what is `key=` in Python is `--key` here."""
        options = {name for each in self.commands.values() for p in each.params for name in p.opts}

        def typed(said: re.Match[str]) -> str:
            return f"--{said[1]}" if f"--{said[1]}" in options else said[0]

        return re.sub(r"\b(\w+)=(?=[.,; ]|$)", typed, sentence)

    def _say(self, sentence: str) -> int:
        said = " ".join(sentence.split())
        if len(said) > LONGEST:  # the beginning names the thing, the end says the way out
            said = f"{said[: LONGEST // 2]} ... {said[-LONGEST // 2 :]}"
        print(f"{self.program}:", said, file=sys.stderr)
        return 2


def _hide_types_of_flags(params: list[Any]) -> list[Any]:
    for each in params:
        if getattr(each, "is_flag", False) and each.metavar is None:
            each.metavar = ""
    return params


app = typer.Typer(
    cls=Commands,
    help="Stream joins and stream caches inside a hard memory budget.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main(program: typer.Typer = app) -> None:
    """Run a program: this one, or another with commands of the same kind."""
    # Scripts read standard error. Of a query that runs for long it is the log, which has all.
    if not sys.stderr.isatty() and sys.argv[1:2] != ["run"]:
        logging.getLogger("penstock.kernel.jit").setLevel(logging.ERROR)  # what is compiled
    for number in (signal.SIGINT, signal.SIGTERM):
        # What is ignored stays so: `nohup`, or `&` in a script, keeps Ctrl-C from us on purpose.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    program()


def _leave(number: int, _: Any) -> None:
    """End quietly on Ctrl-C and on termination, with the exit code that shells give."""
    if multiprocessing.active_children():  # the pool that waits for them ends them
        raise SystemExit(128 + number)
    # At once, because an exception could get lost in the compiler, which calls back into Python.
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\r\x1b[2K\x1b[?25h")  # no bar, and the cursor is back
    os._exit(128 + number)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from .. import __version__

        print(f"penstock {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
