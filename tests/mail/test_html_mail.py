"""UN-2, TX-2: HTML mail. What no reader sees is dropped, what a mail program quoted is history, the rest is read."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.mail.html import html_to_text, label_html
from pipeline.core.mail.roles import GAP, Role

HISTORY = "<div>Good morning Noor,</div><div><br></div><div>We can show you the loft on Tuesday, September 8 at 11:00 AM.</div><div>The team</div>"
ATTRIBUTION = "On Fri, Sep 4, 2026 at 9:12 AM Juniper Terrace &lt;<a href='mailto:hello@juniper.example'>hello@juniper.example</a>&gt; wrote:"
ATRIBUCION = "El vie, 4 sept 2026 a las 9:12, Juniper Terrace (&lt;hello@juniper.example&gt;) escribió:"


def new_lines(html: str) -> list[str]:
    """The new lines of an HTML mail, white space folded."""
    return [" ".join(line.split()) for line in label_html(html).new_text.splitlines() if line.strip() and line != GAP]


HIDDEN = {
    "display none": '<div style="display:none">September 8</div>',
    "important": '<div style="display: none !important">September 8</div>',
    "hidden attribute": "<p hidden>September 8</p>",
    "visibility": '<p style="visibility:hidden">September 8</p>',
    "opacity": '<p style="opacity:0">September 8</p>',
    "no size": '<span style="font-size:0px">September 8</span>',
    "size by shorthand": '<p style="font:0/0 a">September 8</p>',
    "one pixel": '<span style="font-size:1px">September 8</span>',
    "white on white": '<p style="color:#FFFFFF">September 8</p>',
    "nearly white": '<p style="color:#fdfdfd">September 8</p>',
    "white font element": "<font color=white>September 8</font>",
    "no alpha": '<p style="color:rgba(0,0,0,0)">September 8</p>',
    "transparent": '<p style="color:transparent">September 8</p>',
    "hsl white": '<p style="color:hsl(0,0%,100%)">September 8</p>',
    "no height": '<div style="max-height:0;overflow:hidden">September 8</div>',
    "off screen": '<div style="position:absolute;left:-9999px">September 8</div>',
    "indented away": '<div style="text-indent:-9999px">September 8</div>',
    "Outlook": '<p style="mso-hide:all">September 8</p>',
    "class": '<style>.x{display:none}</style><p class="x">September 8</p>',
    "id": "<style>#x{visibility:hidden}</style><p id=x>September 8</p>",
    "descendant": "<style>div.x p{display:none}</style><div class=x><div><p>September 8</p></div></div>",
    "child": "<style>.x > span{display:none}</style><div class=x><span>September 8</span></div>",
    "media": "<style>@media screen { .x { display:none } }</style><p class=x>September 8</p>",
    "script": "<script>September 8</script><style>September 8</style><noscript>September 8</noscript><title>September 8</title>",
    "comment": "<!-- September 8 --><!--[if mso]><p>September 8</p><![endif]-->",
}


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_no_reader_sees_is_not_there(hidden: str) -> None:
    """Hidden text is neither new nor quoted: it does not occur at all (UN-2, UN-9)."""
    html = f"<html><body>{hidden}<p>Friday works</p></body></html>"
    assert new_lines(html) == ["Friday works"] and "September" not in html_to_text(html)


@pytest.mark.parametrize(
    "html",
    [
        '<body style="background:#000;color:#fff"><p>Friday works</p></body>',
        '<table bgcolor="#003366"><tr><td style="color:white">Friday works</td></tr></table>',
        '<div style="background-image:url(x.png);color:#fff">Friday works</div>',
        '<div style="visibility:hidden"><p style="visibility:visible">Friday works</p></div>',
        '<div style="font-size:0"><p style="font-size:14px">Friday works</p></div>',
        "<style>p.other{display:none} div.y > p{display:none}</style><p>Friday works</p>",
    ],
)
def test_what_a_reader_sees_is_kept(html: str) -> None:
    """White on dark, and text that an inner element shows again, is seen (UN-2)."""
    assert new_lines(html) == ["Friday works"]


QUOTED = {
    "Gmail": f'<div>Friday works</div><div class="gmail_quote"><div class="gmail_attr">{ATTRIBUTION}</div><blockquote class="gmail_quote">{HISTORY}</blockquote></div>',
    "Gmail, Spanish": f'<div>Friday works</div><div class="gmail_quote"><div class="gmail_attr">{ATRIBUCION}</div>'
    f'<blockquote class="gmail_quote">{HISTORY}</blockquote></div>',
    "Gmail forward": '<div>Friday works</div><div class="gmail_quote"><div class="gmail_attr">---------- Forwarded message ---------<br>From: A</div>'
    f"{HISTORY}<blockquote>September 9</blockquote></div>",
    "Apple": f'<div>Friday works</div><blockquote type="cite"><div>{ATTRIBUTION}</div>{HISTORY}</blockquote>',
    "Apple, below": f'<blockquote type="cite"><div>{ATTRIBUTION}</div>{HISTORY}</blockquote><div>Friday works</div>',
    "Thunderbird": f'<p>Friday works</p><div class="moz-cite-prefix">{ATTRIBUTION}</div><blockquote type="cite">{HISTORY}</blockquote>',
    "Yahoo": f'<div>Friday works</div><div id="ydp1yahoo_quoted_2" class="ydp1yahoo_quoted"><div>{ATTRIBUTION}</div>{HISTORY}</div>',
    "Proton": f'<div>Friday works</div><div class="protonmail_quote">{ATTRIBUTION}<br><blockquote>{HISTORY}</blockquote></div>',
    "Outlook on the web": f'<div>Friday works</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> A</div>{HISTORY}',
    "Outlook, ids renamed": f'<div>Friday works</div><div id="x_appendonsend"></div><hr><div id="x_divRplyFwdMsg"><b>Desde:</b> A</div>{HISTORY}',
    "Outlook": '<p class="MsoNormal">Friday works</p><div style="border-top:solid #E1E1E1 1.0pt"><p><b>From:</b> A &lt;a@b.example&gt;<br><b>Sent:</b> Friday, '
    f"September 4, 2026 9:12 AM<br><b>To:</b> Noor<br><b>Subject:</b> Loft</p></div>{HISTORY}",
    "Outlook, Spanish": '<p class="MsoNormal">Friday works</p><p><b>De:</b> A &lt;a@b.example&gt;<br><b>Enviado el:</b> viernes, '
    f"4 de septiembre de 2026 9:12<br><b>Para:</b> Noor<br><b>Asunto:</b> Loft</p>{HISTORY}",
    "Outlook for phones": f'<div>Friday works</div><div id="mail-editor-reference-message-container" class="ms-outlook-mobile-reference-message">{HISTORY}</div>',
    "line breaks only": f"Friday works<br><br>{ATTRIBUTION}<br><br>Good morning Noor,<br>September 8 at 11:00 AM?",
}


@pytest.mark.parametrize("html", QUOTED.values(), ids=QUOTED.keys())
def test_what_a_mail_program_quoted_is_history(html: str) -> None:
    """Every mail program's way to keep history is known, by markup or by words (UN-2)."""
    assert new_lines(html) == ["Friday works"]


def test_answers_between_block_quotes_are_new() -> None:
    """Gmail breaks its block quote where somebody answers in place; the answers are new (UN-2)."""
    html = (
        f'<div class="gmail_quote"><div class="gmail_attr">{ATTRIBUTION}</div><blockquote class="gmail_quote">Which day, the 8th?</blockquote><div>The 9th</div>'
        '<blockquote class="gmail_quote">Any pets?</blockquote><div>No pets</div></div>'
    )
    assert new_lines(html) == ["The 9th", "No pets"]


def test_an_indented_paragraph_is_no_quote() -> None:
    """The indent button makes a block quote that quotes nobody (UN-2)."""
    html = 'Two options:<blockquote style="margin:0 0 0 40px;border:none;padding:0px">September 9 at 4<br>September 10 at 5</blockquote>'
    assert new_lines(html) == ["Two options:", "September 9 at 4", "September 10 at 5"]


def test_a_signature_in_markup_is_one() -> None:
    """A signature block of a mail program is a signature, whatever it says (UN-2)."""
    found = label_html('<div>Friday works</div><div class="gmail_signature">Noor<br>Closed September 7</div>')
    assert found.new_text == "Friday works" and found.lines[-1].role is Role.SIGNATURE


def test_label_and_value_of_a_table_stay_together() -> None:
    """Cells of a row are one line with a tab between them, so that a form sent as a table can be read (TX-2)."""
    assert (
        html_to_text("<table><tr><td>Move-in:</td><td>Thursday, October 1</td></tr></table>")
        == "Move-in:\tThursday, October 1"
    )


def test_lines_are_those_that_a_reader_sees() -> None:
    """Breaks, blocks, entities and white space come out as a browser would show them (TX-2)."""
    assert (
        html_to_text("<p>Friday\n  works &amp;</p>on<b>ly</b><br/>at&nbsp;3<div>or<div>4</div></div>")
        == "Friday works &\n\nonly\nat\xa03\nor\n4"
    )
    assert html_to_text("<pre>a\n  b</pre>") == "a\n  b"


HOSTILE = {
    "deep": "<div>" * 20_000 + "x",
    "deep quotes": "<blockquote>" * 20_000 + "x",
    "attributes": "<p " + "a=b " * 50_000 + ">x",
    "open brackets": "<" * 200_000,
    "rules": "<style>" + ".a{display:none}" * 20_000 + "</style><p class='" + "a " * 20_000 + "'>x",
    "selectors": "<style>" + "a b c," * 20_000 + "{display:none}</style>x",
    "style comments": "<style>" + "/*" * 30_000 + "</style>x",
    "declarations": "<p style='" + "color:red;" * 20_000 + "'>x",
    "comments": "<!--" * 50_000,
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_markup_is_read_within_a_second(html: str) -> None:
    """No markup hangs or raises (TX-2)."""
    started = time.process_time()
    label_html(html)
    assert time.process_time() - started < 1


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>/=\"' &;abdivpstyle-#:{}!\x00\ud800\n"), max_size=200))
def test_broken_markup_never_raises(html: str) -> None:
    """Whatever is sent, an answer comes back whose lines are those of the rendered text (TX-2)."""
    found = label_html(html)
    assert "\n".join(line.text for line in found.lines) == html_to_text(html)
