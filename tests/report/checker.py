"""HTML read strictly: are its tags closed, and where does it point?"""

from html.parser import HTMLParser

EMPTY = {"meta", "br", "img", "link", "input"}


class Checker(HTMLParser):
    """Keeps the tags that are open, and everything that points somewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.points, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.points += [value for name, value in attrs if name in ("href", "xlink:href", "src")]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
