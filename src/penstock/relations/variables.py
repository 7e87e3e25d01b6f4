"""Variables of the environment, written `${NAME}` in an address and read where it is used."""

import os
import re
from collections.abc import Callable

from ..errors import BadInput

VARIABLE = re.compile(r"\$\{(\w+)\}")


def filled(text: str, encode: Callable[[str], str]) -> str:
    """Return a text with the values of its variables in their places.

    >>> os.environ["SHOP"] = "a b"
    >>> filled("postgresql://db/${SHOP}", lambda value: value.replace(" ", "%20"))
    'postgresql://db/a%20b'
    """
    return VARIABLE.sub(lambda match: encode(_value(match.group(1))), text)


def values(text: str) -> set[str]:
    """Return the values of a text's variables, as far as they are set."""
    return {os.environ[name] for name in VARIABLE.findall(text) if name in os.environ}


def _value(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise BadInput(
            f"the uri of the relation names the variable {name}, which is not set in the "
            "environment here; set it for the driver and for the executors"
        )
    return value
