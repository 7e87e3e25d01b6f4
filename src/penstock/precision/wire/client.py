"""What a source and a cache on a wire have in common: a link to the broker, and an end."""

from typing import Any, Self

from .link import Link


class Client:
    """Closes when its block ends."""

    _link: Link

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def up(self) -> bool:
        """Whether there is a connection to the broker now."""
        return self._link.up

    def close(self) -> None:
        """Leave."""
        self._link.close()
