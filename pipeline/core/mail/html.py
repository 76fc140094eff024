"""HTML mail to text: what a person would see, line by line, with the lines that a mail program quoted marked.

Two questions are answered on the document tree, because the text alone cannot: *is it visible* and *is it a quote*.
Text that no reader sees (preheaders, white on white, zero size, off screen) is dropped: nobody meant it as a request,
and it is a road for injected instructions. Elements in which mail programs keep history (cite block quotes, reply
containers of Gmail, Yahoo, Outlook, Proton and others) mark their lines; everything else is left to `roles`.

Invariants: never raises on broken or hostile markup; time is linear in the input; the walk is iterative (depth of
nesting costs no stack); nothing is fetched; a link is its text. The parser (lxml) is imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pipeline.core.mail.roles import Labelled, Role, label_marked

MAX_HTML: Final = 2_000_000
_MAX_RULES: Final = 400
_RULE: Final = "-----"

_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol p pre section summary table tbody tfoot thead tr ul caption".split()
)
_PARAGRAPHS = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote"))
_UNSEEN = frozenset(
    "script style head title template noscript object embed iframe canvas svg math audio video textarea select option datalist input meta link".split()
)
_QUOTE_CLASS = re.compile(
    r"(?:^|[\s_-])(?:x_)*(?:\w{0,12}yahoo_quoted\w{0,12}|protonmail_quote|tutanota_quote|moz-cite-prefix|moz-forward-container|gmail_attr|"
    r"zmail_extra|ms-outlook-mobile-reference-message|outlook_quote|wm_quote|freebirdformviewerviewnavigationform|mailspring-quoted|"
    r"front-blockquote|hs_reply|crisp-quote|reply-intro|cite-quote)(?:$|\s)",
    re.IGNORECASE,
)
_QUOTE_ID = re.compile(
    r"^(?:x_)*(?:mail-editor-reference-message-container|olk_src_body_section|\w{0,12}yahoo_quoted\w{0,16}|reply-intro|isreplycontent|isforwardcontent|"
    r"zmail_extra\w{0,12}|quotedtext)$",
    re.IGNORECASE,
)
_CUT_ID = re.compile(r"^(?:x_)*(?:divrplyfwdmsg|appendonsend|stopspelling|originalmessage)$", re.IGNORECASE)
_SIGNATURE = re.compile(r"(?:^|\s)(?:x_)*(?:gmail_signature|moz-signature|protonmail_signature_block|signature)(?:$|\s)", re.IGNORECASE)
_OWN_MARK = "data-clara-history"
_SPACES = re.compile(r"[ \t\n\r\f]+")
_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,6})?|-?\.\d{1,6})\s*(px|pt|em|rem|%|in|cm|mm|ex|ch|vw|vh)?", re.IGNORECASE)
_CSS_RULE = re.compile(r"([^{}@;]{1,400})\{([^{}]{0,2000})\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COLOURS = {"white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240), "red": (255, 0, 0),
            "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240), "gray": (128, 128, 128),
            "grey": (128, 128, 128), "blue": (0, 0, 255), "navy": (0, 0, 128), "green": (0, 128, 0), "yellow": (255, 255, 0)}  # fmt: skip
_Colour = tuple[int, int, int]
_Styles = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Visible text of a document; `marks[n]` is the role that the markup gives to the n-th line, None for none."""

    text: str
    marks: tuple[Role | None, ...]


@dataclass(frozen=True, slots=True)
class _Look:
    """What an element inherits: whether its text is seen, and in which role its markup puts it."""

    hidden: bool = False
    invisible: bool = False
    tiny: bool = False
    colour: _Colour | None = (0, 0, 0)
    ground: _Colour | None = (255, 255, 255)
    mark: Role | None = None
    pre: bool = False

    @property
    def seen(self) -> bool:
        return not (self.hidden or self.invisible or self.tiny or _same(self.colour, self.ground))


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
    if root is None:
        return Rendered("", ())
    writer = _Writer()
    _walk(root, writer)
    return writer.rendered()


def _parse(html: str) -> Any:
    from lxml import etree  # type: ignore[import-untyped]  # lxml ships no types

    if not html.strip("\x00 \t\r\n\ufeff"):
        return None
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        return etree.fromstring(html.replace("\x00", "").encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError):
        return None


class _Writer:
    """Collects text into lines as a browser would break them."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, Role | None]] = []
        self.parts: list[str] = []
        self.mark: Role | None = None
        self.space = False

    def write(self, text: str, look: _Look) -> None:
        if look.pre:
            first, *rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self._put(first, look)
            for line in rest:
                self.break_line(True)
                self._put(line, look)
            return
        for n, line in enumerate(_SPACES.sub(" ", text).splitlines() or [""]):
            if n:
                self.break_line()
            self._collapse(line, look)

    def _collapse(self, text: str, look: _Look) -> None:
        if text.startswith(" ") and self.parts:
            self.space = True
        body = text.strip(" ")
        if body:
            self._put((" " if self.space and self.parts else "") + body, look)
            self.space = text.endswith(" ")

    def _put(self, text: str, look: _Look) -> None:
        if text:
            self.mark = look.mark if not self.parts or look.mark is None else self.mark
            self.parts.append(text)

    def cell(self) -> None:
        """Between the cells of a row stands a tab, so that a label stays apart from its value."""
        if self.parts:
            self.parts.append("\t")
            self.space = False

    def break_line(self, always: bool = False) -> None:
        if self.parts or always:
            self.lines.append(("".join(self.parts), self.mark if self.parts else None))
        self.parts, self.space, self.mark = [], False, None

    def paragraph(self) -> None:
        self.break_line()
        if self.lines and self.lines[-1][0]:
            self.lines.append(("", None))

    def rule(self, look: _Look) -> None:
        self.break_line()
        self.lines.append((_RULE, look.mark))

    def rendered(self) -> Rendered:
        self.break_line()
        while self.lines and not self.lines[-1][0].strip():
            self.lines.pop()
        return Rendered("\n".join(text for text, _ in self.lines), tuple(mark for _, mark in self.lines))


def _walk(root: Any, writer: _Writer) -> None:
    """Writes the tree in document order; `cut` is set once an element says that all below it is history."""
    styles = _stylesheet(root)
    stack: list[tuple[Any, _Look, bool]] = [(root, _Look(), False)]
    cut = False
    while stack:
        node, look, leaving = stack.pop()
        if leaving:
            _leave(node, look, writer, cut)
            continue
        parent = look
        tag = node.tag if isinstance(node.tag, str) else ""
        if tag and tag not in _UNSEEN:
            cut = cut or bool(_CUT_ID.match(node.get("id") or ""))
            look = _look(node, tag, parent, styles)
            look = replace(look, mark=Role.QUOTED) if cut else look
            if not look.hidden:
                _enter(node, tag, look, parent, writer)
                stack.append((node, parent, True))
                stack.extend((child, look, False) for child in reversed(node))
                if node.text and look.seen:
                    writer.write(node.text, look)
                continue
        _leave(node, parent, writer, cut, open_tag=False)


def _enter(node: Any, tag: str, look: _Look, parent: _Look, writer: _Writer) -> None:
    if tag == "br":
        writer.break_line(True)
    elif tag == "hr":
        writer.rule(look)
    elif tag in ("td", "th"):
        writer.cell()
    elif tag in _PARAGRAPHS:
        writer.paragraph()
    elif tag in _BLOCKS or look.mark is not parent.mark:
        writer.break_line()


def _leave(node: Any, parent: _Look, writer: _Writer, cut: bool, open_tag: bool = True) -> None:
    tag = node.tag if isinstance(node.tag, str) else ""
    outer = replace(parent, mark=Role.QUOTED) if cut else parent
    if open_tag and tag in _PARAGRAPHS:
        writer.paragraph()
    elif open_tag and (tag in _BLOCKS or (writer.parts and writer.mark is not outer.mark)):
        writer.break_line()
    if node.tail and outer.seen:
        writer.write(node.tail, outer)


# --- quoted or not ------------------------------------------------------------------------------------------------


def _mark(node: Any, tag: str, parent: _Look, style: Mapping[str, str]) -> Role | None:
    """Role that this element gives to its lines."""
    if parent.mark is Role.QUOTED:
        return Role.QUOTED
    names = node.get("class") or ""
    ident = node.get("id") or ""
    if tag == "blockquote" and not _is_indent(node, style):
        return Role.QUOTED
    if "gmail_quote" in names.split():
        return parent.mark if _is_answered(node) else Role.QUOTED
    if _QUOTE_CLASS.search(names) or _QUOTE_ID.match(ident) or node.get(_OWN_MARK) is not None:
        return Role.QUOTED
    if _SIGNATURE.search(names) or _SIGNATURE.search(ident) or node.get("data-signatureblock"):
        return Role.SIGNATURE
    return parent.mark


def _is_answered(node: Any) -> bool:
    """Whether a Gmail reply container holds block quotes, between and below which people answer in place."""
    announced = next((text for text in node.itertext() if text.strip()), "")
    return node.find("blockquote") is not None and not announced.strip().startswith("---")


def _is_indent(node: Any, style: Mapping[str, str]) -> bool:
    """Whether a block quote only moves a paragraph to the right (the indent button), and quotes nobody."""
    plain = "none" in style.get("border", "") or style.get("border-style") == "none"
    return plain and node.get("type") != "cite" and not node.get("cite") and "quote" not in (node.get("class") or "")


# --- seen or not --------------------------------------------------------------------------------------------------


def _look(node: Any, tag: str, parent: _Look, styles: _Styles) -> _Look:
    style = _style(node, tag, styles)
    mark = _mark(node, tag, parent, style)
    colour = _colour(style.get("color") or (node.get("color") if tag == "font" else None) or (node.get("text") if tag == "body" else None))
    ground, grounded = _ground(style, node)
    invisible = parent.invisible
    if "visibility" in style:
        invisible = style["visibility"] in ("hidden", "collapse")
    tiny = parent.tiny
    if "font-size" in style:
        tiny = _is_tiny(style["font-size"], parent.tiny)
    pre = parent.pre or tag == "pre" or style.get("white-space", "").startswith(("pre", "break-spaces"))
    if style.get("white-space") in ("normal", "nowrap"):
        pre = False
    return _Look(
        hidden=parent.hidden or node.get("hidden") is not None or _is_removed(style),
        invisible=invisible,
        tiny=tiny,
        colour=parent.colour if colour is None else colour,
        ground=ground if grounded else parent.ground,
        mark=mark,
        pre=pre,
    )


def _style(node: Any, tag: str, styles: _Styles) -> dict[str, str]:
    found: dict[str, str] = {}
    if styles:
        for key in (tag, *(f".{name}" for name in (node.get("class") or "").split()[:20]), f"#{node.get('id')}"):
            found.update(styles.get(key, {}))
            found.update(styles.get(tag + key, {}))
    inline = node.get("style")
    if inline:
        found.update(_declarations(inline[:4000]))
    return found


def _declarations(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in _COMMENT.sub("", text).split(";"):
        name, colon, value = part.partition(":")
        if colon:
            found[name.strip().lower()] = value.replace("!important", "").strip().lower()
    return found


def _stylesheet(root: Any) -> dict[str, dict[str, str]]:
    """Declarations by simple selector (`tag`, `.class`, `#id`, `tag.class`) out of the style elements."""
    styles: dict[str, dict[str, str]] = {}
    count = 0
    for element in root.iter("style"):
        for selectors, body in _CSS_RULE.findall(_COMMENT.sub("", (element.text or "")[:60_000])):
            count += 1
            if count > _MAX_RULES:
                return styles
            declared = _declarations(body)
            for selector in selectors.lower().split(","):
                name = selector.strip()
                if name and not set(name) & set(" >+~[:*"):
                    styles.setdefault(name, {}).update(declared)
    return styles


def _is_removed(style: Mapping[str, str]) -> bool:
    if not style:
        return False
    if style.get("display") == "none" or style.get("mso-hide") == "all":
        return True
    if _number(style.get("opacity")) is not None and (_number(style.get("opacity")) or 0) <= 0.05:
        return True
    if style.get("overflow", "").startswith("hidden") and any(_is_zero(style.get(k)) for k in ("max-height", "height", "max-width", "width")):
        return True
    if any((_number(style.get(k)) or 0) <= -400 for k in ("text-indent", "margin-left", "margin-top")):
        return True
    if style.get("position") in ("absolute", "fixed") and any((_number(style.get(k)) or 0) <= -400 for k in ("left", "top", "right", "bottom")):
        return True
    shape = style.get("clip", "") + style.get("clip-path", "") + style.get("transform", "")
    return bool(re.search(r"rect\(\s*0(?:px)?[\s,]+0(?:px)?[\s,]+0|rect\(1px[\s,]+1px[\s,]+1px|inset\((?:50|100)%|circle\(0|scale\(0(?:\.0+)?[),]", shape))


def _is_tiny(value: str, inherited: bool) -> bool:
    found = _LENGTH.match(value)
    if not found:
        return False if value not in ("inherit", "smaller") else inherited
    size, unit = float(found.group(1)), (found.group(2) or "px")
    if unit in ("em", "rem", "%", "ex"):
        return size <= (5 if unit == "%" else 0.05) or (inherited and unit != "rem")
    return size <= 2


def _is_zero(value: str | None) -> bool:
    number = _number(value)
    return number is not None and number <= 1


def _number(value: str | None) -> float | None:
    found = _LENGTH.match(value) if value else None
    return float(found.group(1)) if found else None


def _ground(style: Mapping[str, str], node: Any) -> tuple[_Colour | None, bool]:
    """Background colour that the element sets (None where it is a picture), and whether it sets any."""
    value = style.get("background-color") or style.get("background") or node.get("bgcolor")
    if "url(" in style.get("background", "") or style.get("background-image", "none") != "none" or node.get("background"):
        return None, True
    colour = _colour(value.split()[0] if value else None)
    return colour, colour is not None


def _colour(value: str | None) -> _Colour | None:
    if not value:
        return None
    value = value.strip().lower()
    if value in _COLOURS:
        return _COLOURS[value]
    if value == "transparent":
        return None
    digits = value.lstrip("#")
    if re.fullmatch(r"[0-9a-f]{3}", digits):
        return int(digits[0] * 2, 16), int(digits[1] * 2, 16), int(digits[2] * 2, 16)
    if re.fullmatch(r"[0-9a-f]{6}(?:[0-9a-f]{2})?", digits):
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    found = re.match(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})", value)
    return (int(found.group(1)), int(found.group(2)), int(found.group(3))) if found else None


def _same(colour: _Colour | None, ground: _Colour | None) -> bool:
    return colour is not None and ground is not None and max(abs(a - b) for a, b in zip(colour, ground, strict=True)) <= 24

