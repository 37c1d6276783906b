"""Reads an HTML report with html.parser and fails on what a browser would repair silently or a reader without a mouse would miss."""
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}
DRAWN = {"path", "circle"}  # of SVG, where an element may close itself
OPTIONAL_END = {"td", "th", "tr", "li", "p"}
text = open(sys.argv[1], encoding="utf-8").read()
problems = []


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.controls, self.levels = [], [], [], [], []
        self.tables, self.unsorted, self.names = [], 0, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name, value in attributes.items():
            if name.startswith("on"):
                problems.append(f"handler {name} on {tag}")
            if name in ("src", "href", "action", "xlink:href") and re.match(r"(?i)[a-z]+:", value or "") and value != "data:,":
                problems.append(f"{tag} leads out of the file: {value}")
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        for name in ("aria-controls", "aria-labelledby", "for"):
            if name in attributes:
                self.controls.append(attributes[name])
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "table":
            self.tables.append(False)
        if tag == "caption":
            self.tables[-1] = True
        if tag == "th" and "scope" not in attributes:
            problems.append("a heading of a table without scope")
        if tag == "button" and "aria-sort" not in dict(self.open[-1][1]):
            problems.append("a button to sort by in a heading without aria-sort")
        if tag == "svg" and not (attributes.get("aria-hidden") or (attributes.get("role") == "img" and attributes.get("aria-label"))):
            problems.append("a picture without a name")
        if tag == "html":
            self.names.append(attributes.get("lang"))
        if tag not in VOID:
            if tag in OPTIONAL_END and self.open and self.open[-1][0] in OPTIONAL_END:
                while self.open and self.open[-1][0] in OPTIONAL_END and not (tag in ("td", "th") and self.open[-1][0] == "tr"):
                    self.open.pop()
            self.open.append((tag, list(attributes.items())))

    def handle_startendtag(self, tag, attributes):
        if tag not in DRAWN:
            problems.append(f"{tag} closes itself")

    def handle_endtag(self, tag):
        while self.open and self.open[-1][0] != tag and self.open[-1][0] in OPTIONAL_END:
            self.open.pop()
        if not self.open or self.open[-1][0] != tag:
            problems.append(f"</{tag}> closes {self.open[-1][0] if self.open else 'nothing'} at {self.getpos()}")
        else:
            self.open.pop()


page = Page()
page.feed(text)
page.close()
problems += [f"{tag} is never closed" for tag, _ in page.open]
problems += [f"id {name} twice" for name in set(page.ids) if page.ids.count(name) > 1]
problems += [f"link to nowhere: {link}" for link in page.links if link.startswith("#") and link[1:] not in page.ids]
problems += [f"no element {name}" for name in page.controls if name not in page.ids]
problems += [f"a table without a caption ({page.tables.count(False)})"] * (not all(page.tables))
if page.names != ["en"]:
    problems.append("no language")
if page.levels[:1] != [1] or page.levels.count(1) != 1 or any(b > a + 1 for a, b in zip(page.levels, page.levels[1:])):
    problems.append(f"headings out of order: {page.levels}")
if len(re.findall("<title>[^<]+</title>", text.split("<body")[0])) != 1:
    problems.append("no title")
if not text.startswith("<!DOCTYPE html>"):
    problems.append("no document type")
print("\n".join(problems))
sys.exit(1 if problems else 0)
