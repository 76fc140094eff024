"""Whether a reader sees an element of an HTML mail: the part of CSS that hides text, and no other part.

Preheaders, white on white, zero size, off screen: text that nobody sees is nobody's request, and a favourite road for
injected instructions. Declarations come from style attributes, from the old presentational attributes, and from style
elements with selectors of tags, classes and ids (descendants and children included). What cannot be judged counts as
visible; a rule inside `@media` counts as if its condition held.

Invariants: pure; never raises; bounded work (rules, selectors and lengths are capped). Not a style engine: no cascade
by specificity (a later rule wins), no layout, no scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipeline.core.mail.tables import words

Colour = tuple[int, int, int]
Declared = Mapping[str, str]
"""Property to value, both lower case."""

_MAX_CSS: Final = 60_000
_MAX_RULES: Final = 300
_MAX_SELECTORS: Final = 600
_FAR: Final = -400  # pixels from which on shifted text is off every screen
_CLOSE: Final = 24  # difference of colour channels below which text does not stand out

_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,6})?|-?\.\d{1,6})\s?(px|pt|em|rem|%|ex|in|cm|mm|ch|vw|vh)?")
_COMPOUND = re.compile(r"([a-z][\w-]{0,40}|\*)?((?:[.#][\w-]{1,80}){0,6})(?::[\w-]{1,20})?$")
_CLIPPED = re.compile(
    r"rect\(\s?0(?:px)?[\s,]{1,3}0(?:px)?[\s,]{1,3}0|rect\(\s?1px[\s,]{1,3}1px[\s,]{1,3}1px|inset\((?:50|100)%|circle\(0|"
    r"scale[xy]?\(0(?:\.0{1,3})?[),]"
)
_RGB = re.compile(r"rgba?\(\s?(\d{1,3})[\s,]{1,4}(\d{1,3})[\s,]{1,4}(\d{1,3})(?:[\s,/]{1,4}([\d.]{1,6}))?")
_HSL = re.compile(r"hsla?\(\s?[\d.]{1,8}(?:deg)?[\s,]{1,4}([\d.]{1,8})%[\s,]{1,4}([\d.]{1,8})%")
_HEX = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$")
_NAMES: Final[dict[str, Colour]] = {
    "white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240), "whitesmoke": (245, 245, 245),
    "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240), "azure": (240, 255, 255), "mintcream": (245, 255, 250),
    "red": (255, 0, 0), "blue": (0, 0, 255), "navy": (0, 0, 128), "green": (0, 128, 0), "gray": (128, 128, 128),
    "grey": (128, 128, 128), "silver": (192, 192, 192), "yellow": (255, 255, 0), "windowtext": (0, 0, 0),
}  # fmt: skip
_UNSEEN_COLOUR: Final[Colour] = (-1, -1, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What an element inherits and passes on as to being seen."""

    removed: bool = False
    """Nothing in it is seen, whatever it says itself."""
    invisible: bool = False
    tiny: bool = False
    colour: Colour | None = (0, 0, 0)
    ground: Colour | None = (255, 255, 255)
    pre: bool = False
    """Whether white space and line breaks are kept."""
    seen: bool = True
    """Whether text directly in it is seen."""


@dataclass(frozen=True, slots=True)
class _Compound:
    tag: str
    names: frozenset[str]
    """Classes as `.name`, an id as `#name`."""
    child: bool
    """Whether the compound before it must match the parent itself and not just any ancestor."""


@dataclass(frozen=True, slots=True)
class _Rule:
    compounds: tuple[_Compound, ...]
    declared: Declared


class Styles:
    """The looks of the elements of one document."""

    def __init__(self, root: Any) -> None:
        self._rules = _stylesheet(root)
        self._known: dict[tuple[Look, str, tuple[tuple[str, str], ...]], Look] = {}

    def look(self, node: Any, tag: str, parent: Look) -> Look:
        """The look of an element below one that looks like `parent`."""
        items = node.items()
        if not items and not self._rules and tag not in ("pre", "body"):
            return parent
        deep = bool(self._rules)
        key = (parent, tag, tuple(items))
        if not deep and key in self._known:
            return self._known[key]
        look = _look(node, tag, parent, self._declared(node, tag))
        if not deep:
            self._known[key] = look
        return look

    def declared(self, node: Any, tag: str) -> Declared:
        """What is declared for an element, by rules and by itself."""
        return self._declared(node, tag)

    def _declared(self, node: Any, tag: str) -> Declared:
        inline = node.get("style")
        found: dict[str, str] = {}
        for rule in self._candidates(node, tag) if self._rules else ():
            if _matches(rule, node):
                found.update(rule.declared)
        if inline:
            found.update(declarations(inline[:4_000]))
        return found

    def _candidates(self, node: Any, tag: str) -> list[_Rule]:
        keys = [tag, "*", *{f".{name}" for name in _classes(node)}]
        keys += [f"#{node.get('id').lower()}"] if node.get("id") else []
        return [rule for key in keys for rule in self._rules.get(key, ())]


def declarations(text: str) -> dict[str, str]:
    """The declarations of a style attribute or of the body of a rule."""
    found: dict[str, str] = {}
    for part in _uncommented(text).lower().split(";"):
        name, colon, value = part.partition(":")
        if colon:
            found[name.strip()] = value.replace("!important", "").strip()
    return found


def _uncommented(text: str) -> str:
    if "/*" not in text:
        return text
    head, *rest = text.split("/*")
    return head + "".join(part.partition("*/")[2] for part in rest)


# --- rules --------------------------------------------------------------------------------------------------------


def _stylesheet(root: Any) -> dict[str, list[_Rule]]:
    """The rules of all style elements, by a name that an element must have to match (`tag`, `.class`, `#id`, `*`)."""
    rules: dict[str, list[_Rule]] = {}
    budget = _MAX_SELECTORS
    for element in root.iter("style"):
        for selectors, body in _rule_texts(_uncommented((element.text or "")[:_MAX_CSS]).lower()):
            declared = {name: value for name, value in declarations(body).items() if name in _RELEVANT}
            for selector in selectors.split(",")[:budget] if declared else ():
                budget -= 1
                compounds = _compounds(selector)
                if compounds:
                    last = compounds[-1]
                    key = min(last.names) if last.names else last.tag or "*"
                    rules.setdefault(key, []).append(_Rule(compounds, declared))
            if budget <= 0:
                return rules
    return rules


_RELEVANT: Final = words(
    "display visibility opacity font font-size color background background-color background-image overflow max-height height max-width width "
    "position left right top bottom text-indent margin-left margin-top clip clip-path transform mso-hide white-space border border-style filter"
)


def _rule_texts(css: str) -> list[tuple[str, str]]:
    """Selector list and body of each rule; the shell of an at-rule is opened."""
    found: list[tuple[str, str]] = []
    for piece in css.split("}")[: _MAX_RULES * 2]:
        selectors, brace, body = piece.rpartition("{")
        if brace:
            found.append((selectors.rpartition("{")[2].rpartition(";")[2][-4_000:], body[:4_000]))
    return found[:_MAX_RULES]


def _compounds(selector: str) -> tuple[_Compound, ...]:
    """The compounds of a selector; empty where it is of a kind that is not judged."""
    found: list[_Compound] = []
    child = False
    for word in selector[:300].replace(">", " > ").split():
        if word == ">":
            child = True
            continue
        match = _COMPOUND.match(word)
        if not match or not (match.group(1) or match.group(2)):
            return ()
        names = frozenset(re.findall(r"[.#][\w-]+", match.group(2)))
        tag = match.group(1) or ""
        found.append(_Compound("" if tag == "*" else tag, names, child))
        child = False
    return tuple(found)


def _matches(rule: _Rule, node: Any) -> bool:
    if not _fits(rule.compounds[-1], node):
        return False
    child = rule.compounds[-1].child
    above = node.getparent()
    for compound in reversed(rule.compounds[:-1]):
        for _ in range(60):
            if above is None or _fits(compound, above) or child:
                break
            above = above.getparent()
        if above is None or not _fits(compound, above):
            return False
        child, above = compound.child, above.getparent()
    return True


def _classes(node: Any) -> list[str]:
    return str((node.get("class") or "")[:400].lower()).split()


def _fits(compound: _Compound, node: Any) -> bool:
    if compound.tag and compound.tag != node.tag:
        return False
    classes = _classes(node) if compound.names else []
    return all(
        name[1:] in classes if name[0] == "." else name[1:] == (node.get("id") or "").lower() for name in compound.names
    )


# --- looks --------------------------------------------------------------------------------------------------------


def _look(node: Any, tag: str, parent: Look, style: Declared) -> Look:
    removed = parent.removed or node.get("hidden") is not None or (bool(style) and _is_removed(style))
    invisible = style["visibility"] in ("hidden", "collapse") if "visibility" in style else parent.invisible
    tiny = _tiny(style, parent.tiny)
    colour = _own_colour(node, tag, style, parent.colour)
    ground = _own_ground(node, style, parent.ground)
    pre = tag == "pre" or parent.pre
    if "white-space" in style:
        pre = style["white-space"].startswith(("pre", "break-spaces"))
    seen = not (removed or invisible or tiny or _alike(colour, ground))
    return Look(removed, invisible, tiny, colour, ground, pre, seen)


def _is_removed(style: Declared) -> bool:
    if style.get("display") == "none" or style.get("mso-hide") == "all" or _value(style, "opacity", 1) <= 0.05:
        return True
    sizes = ("max-height", "height", "max-width", "width")
    if style.get("overflow", "").startswith(("hidden", "clip")) and any(_value(style, name, 99) <= 1 for name in sizes):
        return True
    if any(_value(style, name, 0) <= _FAR for name in ("text-indent", "margin-left", "margin-top")):
        return True
    shifted = ("left", "top", "right", "bottom")
    if style.get("position") in ("absolute", "fixed") and any(_value(style, name, 0) <= _FAR for name in shifted):
        return True
    return bool(_CLIPPED.search(" ".join(style.get(name, "") for name in ("clip", "clip-path", "transform"))))


def _value(style: Declared, name: str, default: float) -> float:
    found = _LENGTH.match(style.get(name, ""))
    return float(found.group(1)) if found else default


def _tiny(style: Declared, inherited: bool) -> bool:
    value = style.get("font-size") or _shorthand_size(style.get("font", ""))
    found = _LENGTH.match(value)
    if not found:
        return inherited and value in ("", "inherit", "smaller", "larger")
    size, unit = float(found.group(1)), found.group(2) or "px"
    if unit == "%":
        return size <= 5 or inherited
    if unit in ("em", "ex"):
        return size <= 0.05 or inherited
    return size <= (0.05 if unit == "rem" else 2)


def _shorthand_size(font: str) -> str:
    found = re.search(r"(?<![\w.-])(\d{1,4}(?:\.\d{1,4})?(?:px|pt|em|rem|%)?)(?:/|\s|$)", font[:200]) if font else None
    return found.group(1) if found and not re.fullmatch(r"[1-9]00", found.group(1)) else ""


def _own_colour(node: Any, tag: str, style: Declared, inherited: Colour | None) -> Colour | None:
    value = style.get("color") or (node.get("color") if tag == "font" else node.get("text") if tag == "body" else None)
    return _colour(value, inherited) if value else inherited


def _own_ground(node: Any, style: Declared, inherited: Colour | None) -> Colour | None:
    """Background colour behind an element; None where a picture may be there."""
    value = style.get("background-color") or style.get("background") or node.get("bgcolor") or ""
    if "url(" in style.get("background", "") or "url(" in style.get("background-image", "") or node.get("background"):
        return None
    if "gradient(" in value or "gradient(" in style.get("background-image", ""):
        return None
    if not value or value.startswith(("transparent", "none", "inherit", "initial")):
        return inherited
    shown = _colour(value if "(" in value else value.split()[0], inherited)
    return inherited if shown == _UNSEEN_COLOUR else shown


def _colour(value: str, inherited: Colour | None) -> Colour | None:
    """A colour; `_UNSEEN_COLOUR` where it is see-through; `inherited` where it cannot be read."""
    value = value.strip().lower()
    if value == "transparent":
        return _UNSEEN_COLOUR
    if value in _NAMES:
        return _NAMES[value]
    if found := _HEX.match(value):
        digits = found.group(1)
        digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
        if digits[6:] and int(digits[6:], 16) <= 16:
            return _UNSEEN_COLOUR
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    if found := _RGB.match(value):
        red, green, blue, alpha = found.groups()
        return _UNSEEN_COLOUR if alpha and _is_zero(alpha) else (int(red), int(green), int(blue))
    if (found := _HSL.match(value)) and (float(found.group(2)) >= 97 or float(found.group(1)) <= 3):
        shade = round(min(float(found.group(2)), 100) * 2.55)
        return shade, shade, shade
    return inherited


def _is_zero(number: str) -> bool:
    try:
        return float(number) <= 0.06
    except ValueError:
        return False


def _alike(colour: Colour | None, ground: Colour | None) -> bool:
    if colour == _UNSEEN_COLOUR:
        return True
    if colour is None or ground is None:
        return False
    return all(abs(one - other) <= _CLOSE for one, other in zip(colour, ground, strict=True))
