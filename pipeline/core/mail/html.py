"""HTML mail to text: what a person would see, line by line, with the lines that a mail program quoted marked.

Two questions are answered on the document tree, because the text alone cannot: *is it seen* (`visibility`) and *is it
a quote*. Elements in which mail programs keep history (cite block quotes, the reply containers of Gmail, Yahoo,
Outlook, Proton and others) mark their lines; everything else is left to `roles`.

Invariants: never raises on broken or hostile markup; time is linear in the input; the walk is iterative, so that depth
costs no stack (what a parser cuts off at absurd depth is not there: it is not new); nothing is fetched; a link is its
text. The parser (lxml) is imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pipeline.core.mail.roles import Labelled, Role, label_marked
from pipeline.core.mail.tables import words
from pipeline.core.mail.visibility import Declared, Look, Styles

MAX_HTML: Final = 2_000_000
_RULE: Final = "-----"
_BLOCKS = words(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header li main nav ol p pre section summary table tbody tfoot thead tr ul caption"
)
_PARAGRAPHS = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote"))
_UNSEEN = words(
    "script style head title template noscript object embed iframe canvas svg math audio video textarea select option datalist "
    "input meta link"
)
_QUOTE_CLASS = re.compile(
    r"(?:^|\s)(?:x_)*(?:\w{0,12}yahoo_quoted\w{0,12}|protonmail_quote|tutanota_quote|moz-cite-prefix|moz-forward-container|gmail_attr|"
    r"zmail_extra|ms-outlook-mobile-reference-message|outlook_quote|wm_quote|mailspring-quoted|front-blockquote|hs_reply|crisp-quote)"
    r"(?:$|\s)",
    re.IGNORECASE,
)
_QUOTE_ID = re.compile(
    r"(?:x_)*(?:mail-editor-reference-message-container|olk_src_body_section|\w{0,12}yahoo_quoted\w{0,16}|reply-intro|isreplycontent|"
    r"isforwardcontent|zmail_extra\w{0,12}|quotedtext)$",
    re.IGNORECASE,
)
_CUT_ID = re.compile(r"(?:x_)*(?:divrplyfwdmsg|appendonsend|stopspelling|originalmessage)$", re.IGNORECASE)
_SIGNATURE = re.compile(
    r"(?:^|\s)(?:x_)*(?:gmail_signature|moz-signature|protonmail_signature_block|signature)(?:$|\s)", re.IGNORECASE
)
_SPACES = re.compile(r"[ \t\n\r\f]+")


@dataclass(frozen=True, slots=True)
class Rendered:
    """Visible text of a document; `marks[n]` is the role that the markup gives to the n-th line, None for none."""

    text: str
    marks: tuple[Role | None, ...]


def html_to_text(html: str) -> str:
    """The visible text of an HTML mail, quoted history included, one line per line that a reader sees."""
    return render(html).text


def label_html(html: str, sent: Sequence[str] = ()) -> Labelled:
    """The roles of the lines of an HTML mail body; offsets are into `html_to_text(html)`."""
    rendered = render(html)
    return label_marked(rendered.text, rendered.marks, sent)


def render(html: str) -> Rendered:
    """The visible text of an HTML document, with the lines that its markup marks as quoted or as a signature."""
    root = _parse(html[:MAX_HTML])
    return Rendered("", ()) if root is None else _Walk(root).rendered()


def _parse(html: str) -> Any:
    from lxml import etree  # type: ignore[import-untyped]  # lxml ships no types

    if not html.strip("\x00 \t\r\n\ufeff"):
        return None
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        return etree.fromstring(html.replace("\x00", "").encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError):
        return None


class _Walk:
    """Goes through the tree in document order and writes what is seen."""

    def __init__(self, root: Any) -> None:
        self._styles = Styles(root)
        self._writer = _Writer()
        self._cut = False
        # an element to enter, or to leave again (with its children in between); look and mark are the parent's
        self._stack: list[tuple[Any, Look, Role | None, bool]] = [(root, Look(), None, False)]

    def rendered(self) -> Rendered:
        while self._stack:
            node, look, mark, leaving = self._stack.pop()
            if leaving or not self._enter(node, look, mark):
                self._leave(node, look, mark, leaving)
        return self._writer.rendered()

    def _enter(self, node: Any, parent: Look, outer: Role | None) -> bool:
        """Writes the beginning of an element; False where nothing of it is seen."""
        tag = node.tag
        if not isinstance(tag, str) or tag in _UNSEEN:
            return False
        attributed = len(node.attrib) > 0
        self._cut = self._cut or (attributed and bool(_CUT_ID.match(node.get("id") or "")))
        look = self._styles.look(node, tag, parent)
        if look.removed:
            return False
        mark = _mark(node, tag, outer, self._styles) if attributed or tag == "blockquote" else outer
        mark = Role.QUOTED if self._cut else mark
        self._break(tag, mark is not outer)
        if tag == "hr":
            self._writer.rule(mark)
        elif tag == "br":
            self._writer.break_line(always=True)
        elif tag in ("td", "th"):
            self._writer.cell()
        self._stack.append((node, parent, outer, True))
        self._stack.extend([(child, look, mark, False) for child in reversed(node)])
        if node.text and look.seen:
            self._writer.write(node.text, look.pre, mark)
        return True

    def _leave(self, node: Any, parent: Look, outer: Role | None, entered: bool) -> None:
        mark = Role.QUOTED if self._cut else outer
        if entered:
            self._break(node.tag, self._writer.differs(mark))
        if node.tail and parent.seen:
            self._writer.write(node.tail, parent.pre, mark)

    def _break(self, tag: str, marked: bool) -> None:
        if tag in _PARAGRAPHS:
            self._writer.paragraph()
        elif marked or tag in _BLOCKS:
            self._writer.break_line()


class _Writer:
    """Collects text into lines as a browser would break them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._marks: list[Role | None] = []
        self._parts: list[str] = []
        self._mark: Role | None = None
        self._space = False

    def write(self, text: str, pre: bool, mark: Role | None) -> None:
        """Adds text to the line; kept line by line where white space counts."""
        if pre:
            first, *rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self._put(first, mark)
            for line in rest:
                self.break_line(always=True)
                self._put(line, mark)
            return
        shown = _SPACES.sub(" ", text)
        self._space = self._space or shown[:1] == " "
        if body := shown.strip(" "):
            self._put(f" {body}" if self._space and self._parts else body, mark)
            self._space = shown[-1:] == " "

    def _put(self, text: str, mark: Role | None) -> None:
        if text:
            self._mark = self._mark if self._parts else mark
            self._parts.append(text)

    def differs(self, mark: Role | None) -> bool:
        """Whether the open line was written under another mark."""
        return bool(self._parts) and self._mark is not mark

    def cell(self) -> None:
        """Between the cells of a row stands a tab, so that a label stays apart from its value."""
        if self._parts:
            self._parts.append("\t")
            self._space = False

    def break_line(self, always: bool = False) -> None:
        """Ends the line, where there is one or where an empty one is meant."""
        if self._parts or always:
            self._lines.append("".join(self._parts))
            self._marks.append(self._mark if self._parts else None)
        self._parts, self._space, self._mark = [], False, None

    def paragraph(self) -> None:
        """Ends the line and leaves one empty."""
        self.break_line()
        if self._lines and self._lines[-1]:
            self._lines.append("")
            self._marks.append(None)

    def rule(self, mark: Role | None) -> None:
        """Draws a horizontal rule as a line of its own."""
        self.break_line()
        self._lines.append(_RULE)
        self._marks.append(mark)

    def rendered(self) -> Rendered:
        """All lines, less empty ones at the end."""
        self.break_line()
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        return Rendered("\n".join(self._lines), tuple(self._marks[: len(self._lines)]))


def _mark(node: Any, tag: str, outer: Role | None, styles: Styles) -> Role | None:
    """Role that this element gives to its lines."""
    if outer is Role.QUOTED:
        return outer
    names, ident = node.get("class") or "", node.get("id") or ""
    if tag == "blockquote" and not _is_indent(node, styles.declared(node, tag)):
        return Role.QUOTED
    if "gmail_quote" in names.split():
        return outer if _is_answered(node) else Role.QUOTED
    return _named_mark(names[:400], ident[:200]) or (Role.SIGNATURE if node.get("data-signatureblock") else outer)


@lru_cache(maxsize=512)
def _named_mark(names: str, ident: str) -> Role | None:
    if _QUOTE_CLASS.search(names) or _QUOTE_ID.match(ident):
        return Role.QUOTED
    return Role.SIGNATURE if _SIGNATURE.search(names) or _SIGNATURE.search(ident) else None


def _is_indent(node: Any, style: Declared) -> bool:
    """Whether a block quote only moves a paragraph to the right (the indent button), and quotes nobody."""
    plain = "none" in style.get("border", "") or style.get("border-style") == "none"
    return plain and node.get("type") != "cite" and not node.get("cite") and "quote" not in (node.get("class") or "")


def _is_answered(node: Any) -> bool:
    """Whether a Gmail reply container holds block quotes, between and below which people answer in place."""
    announced = next((text for text in node.itertext() if text.strip()), "")
    return node.find("blockquote") is not None and not announced.strip().startswith("---")
