"""Pages for people: self-contained HTML that every command shares."""

from .frame import page, where_to_write

__all__ = ["page", "where_to_write"]
