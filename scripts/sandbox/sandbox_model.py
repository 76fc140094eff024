"""The sandbox model: rules that read and draft leasing talk in English and Spanish, in place of a language model.

It is no language model and never pretends to be one: every answer of the stand-in carries `LABEL`. It exists so that Clara runs, shows and
tests itself on a bare machine. It knows the prompt format of Clara's reader and drafter, the usual ways in which people ask for a visit,
move it, drop it, take an offer or say yes, and nothing else. For days and times it uses Clara's own calendar, so it never disagrees with
the resolver; what a wrong or hostile model does is scripted (`World.model_script`) or a fault of the stand-in.

Scripted answers: each entry of `World.model_script` is a dict with one key: `reading` (the tool's input, verbatim, right or wrong),
`draft` (text, verbatim) or `message` (`content` and `stop_reason` of a whole answer). The first entry that fits a request is used up.

Invariants: pure and deterministic (variety comes from a digest of the prompt); every span is a piece of the new text; a value is what the
calendar says of the span; an id is one of `open`. `reading` also labels expected readings in tests.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from pipeline.core.calendar import CalendarValue, detect, resolve
from pipeline.core.text import find_span

LABEL = "rules, no language model"
"""What every answer says of itself in the header `x-sandbox-model`."""

Json = dict[str, Any]

_PROMPT = re.compile(
    r"<(?P<kind>context|task)>\n(?P<given>[^\n]*)\n</(?P=kind)>\n"
    r"<history>\n(?P<history>[^\n]*)\n</history>\n<new_text>\n(?P<text>[^<]*)\n</new_text>"
)
_HOURS = {day: ((time(8), time(20)),) for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user message of Clara's reader (`given` is the context) or drafter (`given` is the task), taken apart; `text` is unescaped."""

    given: Json
    history: tuple[tuple[str, str], ...]
    text: str


def purpose(message: str) -> str:
    """What a user message asks for: `reading`, `draft` or `other`."""
    match = _PROMPT.fullmatch(message)
    if match is None:
        return "other"
    return "reading" if match["kind"] == "context" else "draft"


def parse_prompt(message: str) -> Prompt:
    """The parts of a user message; raises ValueError where it has another structure, as text with a raw `<` would give it."""
    match = _PROMPT.fullmatch(message)
    if match is None:
        raise ValueError("not a prompt of Clara's reader or drafter")
    history = tuple((str(who), str(what)) for who, what in json.loads(match["history"]))
    return Prompt(json.loads(match["given"]), history, match["text"].replace("&lt;", "<").replace("&amp;", "&"))


def answer_reading(message: str) -> Json:
    """The tool's input for a reader's user message; spans are copied from the prompt, escapes and all, as a model would."""
    prompt = parse_prompt(message)
    given = prompt.given
    found = reading(
        prompt.text,
        now=given["now"],
        tz=given["tz"],
        locale=given["locale"],
        on_record=given["open"],
        history=prompt.history,
    )
    return _escaped(found)  # type: ignore[no-any-return]  # a dict stays a dict


def answer_draft(message: str) -> str:
    """The text for a drafter's user message."""
    prompt = parse_prompt(message)
    return draft(prompt.given, prompt.text)


def _escaped(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _escaped(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_escaped(inner) for inner in value]
    return value.replace("&", "&amp;").replace("<", "&lt;") if key == "span" else value


# --- reading ----------------------------------------------------------------------------------------------------------


def reading(
    text: str,
    *,
    now: str,
    tz: str = "America/Chicago",
    locale: str | None = None,
    on_record: Mapping[str, Any] | None = None,
    history: Sequence[tuple[str, str]] = (),
) -> Json:
    """The reading of `text` said at `now` (local `YYYY-MM-DDTHH:MM`), as JSON in the shape of `pipeline.core.reading`.

    `on_record` is `open` of PROBES.md; `history` is what was said before, oldest first.
    """
    return _Reader(text, datetime.fromisoformat(now), ZoneInfo(tz), locale, on_record or {}, bool(history)).read()


def fold(text: str) -> str:
    """`text` in lower case without accents and typographic apostrophes, character for character, so that offsets stay."""
    return "".join(_fold(char) for char in text)


def _fold(char: str) -> str:
    if char in "\u2018\u2019\u02bc\u00b4`":
        return "'"
    if char.isascii():
        return char.lower()
    base = unicodedata.normalize("NFD", char)[0].lower()
    return base if len(base) == 1 else char


def _rx(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


# Everything below is matched against folded text: lower case, no accents.
_SPANISH = _rx(
    r"\b(?:hola|buen[oa]s|quiero|quisiera|puedo|podria|podemos|podriamos|gracias|visita|cita|depa|departamento|el|la|las|los|de|para|por|que|una?|"
    r"si|mi|me|con|hoy|manana|es|esta|favor|necesito|hablar|cancelar|cambiar|lunes|martes|miercoles|jueves|viernes|sabado|domingo|cual|cuanto|"
    r"cuando|donde|no puedo|claro|vale|ninguna|horarios?|tienen?|hay|hora|cierran?|abren?|y|en|ir|voy|del|al|su|ustedes|usted|lo|le|nos|ya|mas)\b"
)
_ENGLISH = _rx(
    r"\b(?:hi|hello|hey|i|i'd|i'm|want|would|like|can|could|may|the|a|an|to|for|at|on|is|are|you|my|please|thanks?|yes|yeah|tour|visit|see|"
    r"what|when|how|do|does|have|this|that|it|works?|cancel|move|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|me|and)\b"
)

_PLACE = r"(?:it|place|apartment|apt|unit|studio|home|house|building|property|loft|one|room|bedroom|br|1br|2br|3br|model|leasing office)"
_VISIT_EN = (
    r"(?:\btour(?:s|ing)?\b|\bview(?:ing)?\b|\bvisit(?:ing)?\b|\bshowing\b|\bappointment\b|\bwalk ?through\b|"
    rf"\b(?:see|look at|check out|look around)\b(?: (?:the|a|an|your|that|this|around|my|one of your))?(?: [\w-]+){{0,4}}? {_PLACE}\b|"
    r"\b(?:come|stop|swing|drop|go)(?:ing)? (?:by|over|in)\b|\bcome (?:see|look|and (?:see|look)|out)\b|\bshow me\b|\bsee (?:it|one)\b)"
)
_VISIT_ES = (
    r"(?:\bvisit(?:a|as|ar|arlo|arla|emos)\b|\brecorrido\b|\bcita\b|\btour\b|\bconocer(?:lo|la)?\b|\bver(?:lo|la|los)?\b|\bpasar(?: a ver| por)?\b|"
    r"\bmostrar(?:me|nos)?\b|\bir a ver\b)"
)
_WISH_EN = (
    r"(?:\b(?:i|we)'?d (?:like|love)\b|\b(?:i|we) (?:want|wanna|would like|would love|need|wish|was hoping|were hoping|was wondering|wanted)\b|"
    r"\b(?:can|could|may|might) (?:i|we|you|my \w+ and i)\b|\bi'?m (?:interested|looking)\b|\blooking to\b|\binterested in\b|"
    r"\bplease (?:book|schedule|put|set)\b|\b(?:book|schedule|sign) (?:me|us|a|an)\b|\bset up\b|\bany chance\b|\bis it possible\b|"
    r"\bwould it be possible\b|\b(?:want|like|love) to\b|\bput me down\b|\blet'?s (?:do|schedule)\b)"
)
_WISH_ES = (
    r"(?:\bquisiera(?:mos)?\b|\bquiero\b|\bqueremos\b|\bme (?:gustaria|encantaria|interesa|agenda\w*|puede\w*|podria\w*)\b|\bnos (?:gustaria|interesa)\b|"
    r"\b(?:puedo|podria|podemos|podriamos|se puede|se podria|seria posible|es posible|pueden|podrian)\b|\bagend\w+\b|\bprogram\w+\b|\breserv\w+\b|"
    r"\bestoy interesad[oa]\b|\bnecesito\b|\bbusco\b)"
)
_REQUEST = _rx(rf"{_WISH_EN}[^?!\n]{{0,70}}?{_VISIT_EN}", rf"{_WISH_ES}[^?!\n]{{0,70}}?{_VISIT_ES}")
_REQUEST = _rx(_REQUEST.pattern, r"\b(?:can|could|may) (?:i|we) come\b")
_VISIT = _rx(_VISIT_EN, _VISIT_ES)
_COUNTER = _rx(
    r"\b(?:can|could) (?:we|i|you) (?:do|make it)\b",
    r"\b(?:how|what) about\b",
    r"\bwould \S+(?: \S+){0,3} (?:work|be possible)\b",
    r"\b(?:que tal|podria ser|puede ser|seria posible|mejor)\b",
)
_INSTEAD = _rx(
    r"\binstead\b",
    r"\ben (?:vez|lugar) de\b",
    r"\bmejor\b",
    r"\b(?:can't|cannot) make it\b",
    r"\bno (?:voy a |puedo )\w+",
)

_TOUR = r"(?:tour|visit|appointment|showing|viewing|appt)"
_VISITA = r"(?:visita|cita|recorrido|tour)"
_OURS = _rx(rf"\b(?:my|our|the|that) (?:[\w']+ ){{0,2}}?{_TOUR}\b", rf"\b(?:mi|nuestra|la|esa|el) {_VISITA}\b")
_RESCHEDULE = _rx(
    rf"\b(?:can|could) (?:we|you|i) (?:please )?(?:move|change|push|switch|shift) (?:my|our|the|that) (?:[\w']+ ){{0,2}}?{_TOUR}\b",
    r"\bre-?schedul\w*(?: (?:my|our|the|it) ?(?:tour|visit|appointment|showing|viewing|appt)?)?",
    rf"\b(?:move|change|push|switch|shift|postpone) (?:my|our|the|that) (?:[\w']+ ){{0,2}}?(?:{_TOUR}|time)\b",
    r"\b(?:move|push|switch|change) it to\b",
    r"\b(?:puedo|podemos|podria|podriamos|pueden|podrian|quiero|quisiera|necesito|me gustaria)? ?"
    rf"(?:reprogramar|reagendar|cambiar|mover|pasar|posponer|aplazar|adelantar) (?:mi|nuestra|la|el) (?:{_VISITA}|hora)\b",
    rf"\b(?:reprogram|reagend|cambi|muev|pospon|aplaz)\w* (?:mi|la|nuestra) {_VISITA}\b",
    r"\b(?:reprogramar|reagendar|cambiarla|moverla|reprogramarla|reagendarla)\b",
)
_ANOTHER_TIME = _rx(r"\b(?:another|a different) (?:day|time)\b", r"\botr[oa] (?:dia|hora|horario|momento)\b")
_CANCEL = _rx(
    rf"\b(?:please |pls |i (?:need|want|have|would like) to |i'?d like to |can (?:i|you|we) )?cancel(?:l?ing)?\b(?: (?:it|my|our|the|that)(?: [\w']+)?(?: {_TOUR})?)?",
    rf"\b(?:please )?take (?:my|our|the) {_TOUR} off the (?:calendar|schedule|books)\b",
    rf"\bcall off (?:my|our|the) {_TOUR}\b",
    rf"\b(?:por favor |quiero |quisiera |necesito |puedo |puede |podria )?(?:cancel|anul)(?:ar|e|en|a|emos|arla|enla|ela)\b(?: (?:mi|la|nuestra) {_VISITA})?",
)
_NO_CANCEL = _rx(r"(?:don'?t|do not|not|never|no) (?:\w+ ){0,2}$", r"\bsin $")
_CANCEL_OTHER = _rx(r"^\W*(?:\w+ ){0,2}(?:lease|contract|application|policy|fee|texts?|messages?|contrato|solicitud)\b")
_AVAILABILITY = _rx(
    r"\b(?:what|which|other|more) (?:other )?(?:times?(?! (?:is|does|did|was|do you (?:open|close)))|days?|slots?|openings?|appointments?|availability)\b[^.?!\n]*",
    r"\bany (?:other )?(?:slots?|openings?|appointments?|availability|times?)\b(?! but)[^.?!\n]*",
    r"\bwhat(?:'s| is) (?:your )?(?:availability|available|open)\b[^.?!\n]*",
    r"\bwhen (?:can|could|may) (?:i|we)\b[^.?!\n]*",
    r"\bwhat do you have\b[^.?!\n]*",
    r"\bdo you have (?:any(?:thing)?|something|time|openings|availability)\b(?: (?:open|available|free|else|earlier|later))?[^.?!\n]*",
    r"\b(?:que|cuales|otros?|otras?|hay|tienen?) (?:\w+ )?(?:horarios?|horas|dias?|citas?|espacios?|disponib\w+)\b[^.?!\n]*",
    r"\bdisponibilidad\b[^.?!\n]*",
    r"\b(?:cuando|a que hora|que dia) (?:puedo|podria|podemos|podriamos)\b[^.?!\n]*",
)
_DECLINE = _rx(
    r"^\W*(?:no|nope|nah)\W*$",
    r"\bno,? (?:that'?s (?:wrong|not (?:it|right))|(?:eso )?(?:esta mal|no es correcto))\b",
    r"\b(?:no,? )?(?:none|neither|not any) of (?:those|these|them)\b(?: (?:work|works|are good)(?: for (?:me|us))?)?",
    r"\b(?:no,? )?(?:those|these|that|it|they|the times?) (?:\w+ )?(?:don'?t|doesn'?t|won'?t|do not|does not|will not) work(?: for (?:me|us))?",
    r"\b(?:i|we) (?:can'?t|cannot|can not) (?:make|do) (?:any|it|that|those|these|either|them)\b(?: of (?:those|these|them))?",
    r"\bno,? thank(?:s| you)\b",
    r"\b(?:no,? )?ningun[oa]s? (?:de es[ao]s|me|nos)\b(?: me| nos)?(?: (?:queda|sirve|funciona|conviene)\w*)?(?: bien)?",
    r"\b(?:no,? )?(?:es[ao]s?|est[ao]s?|el|las|los) (?:\w+ )?no (?:me|nos) (?:queda|sirve|funciona|conviene)\w*",
    r"\bno (?:me|nos) (?:queda|sirve|funciona|conviene)\w*(?: bien)?",
    r"\bno,? gracias\b",
)
_CANNOT = _rx(r"\b(?:i|we) (?:can'?t|cannot) (?:do|make)\b", r"\bno puedo\b", r"\bno podemos\b")
_CODE = _rx(
    r"\bhow (?:do|can|would) (?:i|we) get (?:in|into|inside)\b[^.?!\n]*",
    r"\bcomo (?:entro|entramos|(?:puedo|podemos) entrar|abro)\b[^.?!\n]*",
    r"\b(?:what(?:'s| is) )?(?:the )?(?:door|gate|lock ?box|key ?pad|entry|access|building|garage|front door) (?:code|pin|combo|combination)\b",
    r"\bcode (?:to|for) (?:the )?(?:[\w]+ )?(?:door|gate|building|lock ?box|unit|apartment|entrance)\b",
    r"\b(?:el |la )?(?:codigo|clave|contrasena|pin) (?:de acceso|del?|para)(?: la| el)?(?: \w+)?",
)
_HUMAN = _rx(
    r"\b(?:(?:can|could|may) i |i (?:want|need|would like) to |i'?d like to |let me )?(?:speak|talk|chat) (?:to|with) (?:an? |the |some|your )?"
    r"(?:real |actual |live )?(?:person|human|agent|manager|one|body|someone|somebody|representative|rep|staff|people|leasing agent)\b",
    r"\b(?:i want )?an? (?:real|actual|live) (?:person|human)\b",
    r"\b(?:have (?:someone|somebody) |please |can you |could (?:you|someone) )?call me(?: back)?\b",
    r"\b(?:get me )?(?:a human|an agent|an operator|a representative)\b",
    r"^\W*(?:person|agent|representative|operator|human|persona|agente|humano)\W*$",
    r"\b(?:necesito |quiero |quisiera |puedo |podria )?(?:hablar|comunicarme) con (?:un[ao]? |el |la |otra )?(?:persona|humano|agente|gerente|encargad[oa]|"
    r"alguien|representante|asesora?|ser humano)\b(?: real| de verdad)?",
    r"\b(?:que )?(?:alguien|una persona) me (?:llame|atienda|ayude|contacte)\b",
    r"\bme (?:pueden?|podrian?) llamar\b",
    r"\bll[aá]meme\b",
)
_OPT_OUT = _rx(
    r"^\W*(?:stop(?: all|all)?|unsubscribe|baja|alto|parar|stop please)\W*$",
    r"\b(?:please )?(?:stop|quit) (?:texting|messaging|emailing|e-mailing|contacting|calling|sending)(?: me)?\b[^.?!\n]*",
    r"\b(?:take|remove) me (?:off|from)\b[^.?!\n]*",
    r"\b(?:don'?t|do not) (?:text|message|contact|email|call|write) me\b[^.?!\n]*",
    r"\bunsubscribe me\b",
    r"\b(?:ya )?no me (?:escriba[ns]?|mande[ns]?|envie[ns]?|contacte[ns]?|llame[ns]?)\b[^.?!\n]*",
    r"\bdeje[ns]? de (?:escribir|mandar|enviar|contactar|llamar)\w*\b[^.?!\n]*",
    r"\bdar(?:me|se)? de baja\b[^.?!\n]*",
)
_FRUSTRATION = _rx(
    r"\b(?:this is |that'?s |so |very |really )*(?:ridiculous|frustrat(?:ed|ing)|annoy(?:ed|ing)|unacceptable|terrible|the worst|useless|a joke|fed up)\b",
    r"\bwaste of (?:my )?time\b",
    r"\b(?:nobody|no one|noone) (?:was|is|answers?|answered|called|calls|showed|came|replies|replied)\b[^.?!\n]*",
    r"\b(?:i'?m )?still waiting\b",
    r"\b(?:es |esto es |que |muy |estoy )*(?:ridicul[oa]|frustrad[oa]|frustrante|molest[oa]|enojad[oa]|pesim[oa]|inaceptable|hart[oa]|inutil)\b",
    r"\bnadie (?:me |nos )?(?:estaba|contesta|contesto|llego|llama|llamo|responde|respondio|atendio|habia)\b[^.?!\n]*",
    r"\bperdida de tiempo\b",
)
_IDENTITY = _rx(
    r"\b(?:are you|is this|am i (?:talking|speaking|chatting) (?:to|with)|i'?m talking to) (?:an? )?(?:real|human|bot|robot|person|ai|machine|computer)\b[^.?!\n]*",
    r"\b(?:es|eres|es usted|usted es|hablo con|estoy hablando con) un[ao]? (?:robot|maquina|persona|bot|humano|computadora)\b[^.?!\n]*",
)
_ASKING = re.compile(
    r"^\W*(?:(?:hi|hello|hey|hola|buen[oa]s(?: dias| tardes| noches)?|yes|yeah|si|y|and|so|a)\b\W*)*"
    r"(?:do|does|did|is|are|was|can|could|will|would|what|where|who|how|when|why|which|cuant[oa]s?|cual(?:es)?|donde|quien(?:es)?|como|que|"
    r"tienen?|hay|aceptan?|permiten?|puedo|pueden?|podrian?|esta[ns]?)\b"
)
_QUESTION = _rx(
    _IDENTITY.pattern,
    r"\bhow (?:much|many|long|far|big|old)\b[^.?!\n]*",
    r"\bwhat(?:'s| is| are) (?:the |your )?(?:rent|price|cost|deposit|address|fees?|pet|hours|square|total|lease|monthly)\b[^.?!\n]*",
    r"\bwhere (?:is|are|do)\b[^.?!\n]*",
    r"\b(?:do|does|is|are|can|could|will|would) (?:you|the|there|it|i|we|pets?|dogs?|cats?|utilities|parking|my)\b[^.?!\n]*"
    r"(?:pets?|dogs?|cats?|parking|utilit\w+|laundry|washer|furnished|deposit|section 8|vouchers?|smok\w+|gym|pool|available|included|allowed|roommates?)"
    r"[^.?!\n]*",
    r"\b(?:pets?|dogs?|cats?) (?:ok|okay|allowed|welcome|friendly)\b",
    r"\b(?:cuanto|cuantos|cuanta|cual|donde) (?:cuesta|es|son|sale|esta|estan|queda|vale|seria|mide)\b[^.?!\n]*",
    r"\b(?:hay|tienen?|aceptan?|permiten?|incluye\w*|se (?:aceptan?|permiten?|puede tener))\b[^.?!\n]*"
    r"(?:mascotas?|perros?|gatos?|estacionamiento|lavanderia|deposito|servicios|luz|agua|amueblad\w+|piscina|alberca|gimnasio)[^.?!\n]*",
)
_CLOSER = _rx(
    r"\b(?:thank you(?: (?:so|very) much)?|thanks?(?: (?:so|very) much| a lot)?|thx|ty|bye(?: bye)?|goodbye|see (?:you|ya)(?: (?:then|soon|later|there))?|"
    r"have a (?:good|great|nice) (?:one|day|evening|night|weekend)|take care|cheers|(?:muchas |mil )?gracias|adios|hasta luego|nos vemos|bye|"
    r"que (?:este|tenga|le vaya|pase)(?: muy)?(?: un)?(?: bien| buen\w*)(?: dia| tarde| noche)?|buen dia|saludos)\b"
)
_SMALL_TALK = _rx(
    r"\b(?:hi|hello|hey|hola|buen[oa]s (?:dias|tardes|noches)|ok(?:ay)?|great|perfect|cool|alright|good|awesome|got it|perfecto|excelente|bueno|vale)\b",
    r"\b(?:genial|bien|you|too|igualmente|that's all|eso es todo)\b",
)
_YES_EN = (
    r"(?:yes|yeah|yep|yup|sure(?: thing)?|ok(?:ay)?|correct|that'?s (?:right|correct|fine|perfect|good)|that is (?:right|correct|fine)|sounds (?:good|great|perfect)|"
    r"perfect|that works|works for me|great|absolutely|definitely|exactly|i confirm|confirmed?|please do|i meant?|let'?s do (?:it|that)|go ahead|it is)"
)
_YES_ES = (
    r"(?:si|claro(?: que si)?|correcto|exacto|perfecto|de acuerdo|esta bien|vale|dale|sale|asi es|confirmo|confirmado|por supuesto|me (?:queda|parece) (?:bien|perfecto)|"
    r"quise decir|quiero decir|esa me queda|me sirve|me funciona|ok|okay|listo|bueno)"
)
_YES = _rx(rf"(?:^|[.!?\n,] ?|\b(?:hi|hello|hey|hola|um|uh|este|oh|and|so) )(?P<yes>{_YES_EN}|{_YES_ES})\b")
_YES_LATE = _rx(
    r"\b(?:that|it) works(?: (?:great|perfectly))?(?: for (?:me|us))?\b",
    r"\bworks for (?:me|us)\b",
    r"\b(?:me|nos) (?:queda|parece|sirve|funciona) (?:bien|perfecto|perfectamente)\b",
)
_NO_YES = _rx(
    r"^\W*(?:no|nope|nah)\b",
    r"\b(?:but|if|unless|maybe|not sure|pero|quizas?|tal vez|no se)\b",
    r"\b(?:doesn'?t|don'?t|won'?t|can'?t|not) \b",
    r"\bno (?:me|puedo|es)\b",
)
_POLITE = r"(?:[,.!]* (?:please|pls|thanks?|thank you|por favor|porfa|gracias|that(?:'s| is) (?:right|fine|perfect)|works(?: for me)?|sounds good|esta bien))*"
_TAKE = _rx(
    r"\b(?:i'?ll|i will|we'?ll|let me|i want to|i'?d like to|can i) (?:take|do|go with|have|grab)\b",
    r"\b(?:works|(?:is|looks|sounds) (?:great|good|perfect|fine)|esta (?:bien|perfecto|excelente|genial))\b",
    r"\bplease\b",
    r"\b(?:tomo|tomamos|me quedo con|elijo|escojo|prefiero|quiero|mejor)\b",
    r"\b(?:me|nos) (?:queda|parece|sirve|funciona|conviene)\b",
    r"\b(?:por favor|porfa)\b",
    r"\b(?:one|slot|option)\b",
    r"^\W*(?:la|el) (?:de )?",
)
_THE_NTH = r"\bthe (?:{0})(?: (?:one|slot|time|option))?\b|\boption (?:{1})\b|\b(?:la|el) (?:{2})(?: opcion| horario)?\b|\bopcion (?:{3})\b"
_ORDINALS = (
    (_rx(_THE_NTH.format("1st|first", "1|one|a", "primer[oa]?", "1|uno|a")), 0),
    (_rx(_THE_NTH.format("2nd|second", "2|two|b", "segund[oa]", "2|dos|b")), 1),
    (_rx(_THE_NTH.format("3rd|third", "3|three|c", "tercer[oa]?", "3|tres|c")), 2),
    (_rx(r"\bthe last (?:one|slot|time|option)\b", r"\b(?:la|el) ultim[oa](?: opcion| horario)?\b"), -1),
)
_MOVING = _rx(
    r"\bmov(?:e|es|ing)[ -]?in(?:to)?(?: date)?\b",
    r"\bmoving\b",
    r"\b(?:to|we|i|and|would|will|can|could) move\b(?! (?:my|our|the|it|that|this)\b)",
    r"\brelocat\w+\b",
    r"\b(?:lease|contract)\b",
    r"\bneed (?:a|an|the|it|something|somewhere)\b[^.?!\n]{0,30}\b(?:by|for|from|starting)\b",
    r"\bavailable (?:from|by|starting)\b",
    r"\bmud(?:ar\w*|anza|amos|o)\b",
    r"\bentrar a vivir\b",
    r"\bcontrato\b",
    r"\ba partir de\b",
    r"\bocupar\b",
)
_MOVING_AFTER = _rx(
    r"^\s*(?:is (?:my|our|the) |for (?:my |our |the )?|es (?:mi|nuestra|la) |de |para (?:la |mi )?)?(?:move|moving|mudanza|mudar)"
)
_AWAY = _rx(
    r"\b(?:instead of|rather than|not|except|but not|anything but|(?:any|every) ?(?:day|time) but|other than|(?:can'?t|cannot) (?:do|make))(?: it)?"
    r"(?: on| at| the| for)*\s*$",
    r"\b(?:en (?:vez|lugar) de|excepto|menos|salvo|pero no|no puedo|no podemos|que no sea)l?(?: el| la| los| a| las)*\s*$",
)
_AWAY_AFTER = _rx(
    r"^,? (?:doesn'?t|does not|won'?t|will not|isn'?t|is not|no longer|is no good|is bad|at \d+\S* (?:doesn'?t|won'?t))\b",
    r"^,? no (?:me|nos|puedo|podemos|va a)\b",
)
_OLD = _rx(
    rf"\b(?:my|our|the) (?:[\w']+ )?{_TOUR}(?: (?:on|at|for|from|scheduled for))?(?: the)?\s*$",
    rf"\b(?:mi|nuestra|la) {_VISITA} (?:del?(?: dia)?|de las?)\s*$",
    r"\b(?:from|del)(?: the)?\s*$",
)
_TOLD = _rx(
    r"\b(?:i|we|you|they|he|she|it) (?:already )?(?:came|went|toured|visited|called|texted|emailed|wrote|spoke|talked|saw|applied|drove)\b",
    r"\b(?:vine|vinimos|fui|fuimos|llame|llamamos|escribi|hable|estuve|estuvimos)\b",
    r"\b(?:open|opens|close[sd]?|hours|abren?|abiert[oa]s?|cierran?|horario de)\b",
)
_JOINTS = re.compile(r"\s*,?\s*(?:(?:at|on|the|of|in|for|around|el|la|las|a|por|de|del|en|@)\s*){0,3}")
_BOUNDS = re.compile(r"\s*(?:and|to|-|–|y|a|until|till|hasta|through)(?:\s+(?:la|las|el))?\s*")
_BETWEEN = re.compile(r"(?:between|from|entre|de|desde)(?: (?:la|las|el))?\s*$")
_SEAM = re.compile(
    r"\s*[()]+\s*|,?\s+(?:maybe|perhaps|possibly|around|about|quizas?|tal vez|a eso de|como a|alrededor de)\s+"
)
_SEAM_OF_MOVE = re.compile(_SEAM.pattern + r"|\s+(?:to|for|al|a|para)(?: el)?\s+(?!las?\b|\d)")
_NTH = (
    r"(?:\d{1,2}(?:st|nd|rd|th)|(?:twenty|thirty)[ -](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|"
    r"thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth|fourth|fifth|sixth|seventh|eighth|ninth)"
)
_DAY_OF_MONTH = re.compile(
    rf"\bthe {_NTH}(?=$|[.,!?]| (?:at|in the|between|around|or|if|would|works)\b)"
    r"|\bel (?:dia )?\d{1,2}(?=$|[.,!?]| (?:a las?|por la|entre|o|si|me|en)\b)"
)
_ARTICLE = re.compile(r"\b(?:a las?|las?|el|at|on the|the|in|en|dentro de)\s+$")
_FILLER = re.compile(r"[\W\d_]+")


@dataclass(slots=True)
class _Found:
    """A date or time in the text: where it stands, what the calendar says, what it is for."""

    start: int
    end: int
    value: CalendarValue
    role: str = "visit"


@dataclass(frozen=True, slots=True)
class _Record:
    kind: str
    id: str
    start: datetime
    state: str = ""


class _Reader:
    """One reading under way."""

    def __init__(
        self, text: str, now: datetime, tz: ZoneInfo, locale: str | None, on_record: Mapping[str, Any], answers: bool
    ) -> None:
        self.text = text
        self.flat = fold(text)
        self.now = now
        self.tz = tz
        self.answers = answers  # something was said before
        self.language = self._language(locale)  # one language, as people write; "do" is no Sunday in English
        groups = (("proposal", "proposals"), ("offer", "offers"), ("tour", "tours"))
        self.records = {
            kind: [
                _Record(kind, one["id"], datetime.fromisoformat(one["start"]), one.get("state", ""))
                for one in on_record.get(key) or ()
            ]
            for kind, key in groups
        }
        self.intents: list[tuple[str, int, int]] = []
        self.affirmation: tuple[str, int, int] | None = None
        self.refers: tuple[_Record, int, int] | None = None

    def read(self) -> Json:
        self.found = list(self._expressions())
        self._plain_intents()
        self._tour_intents()
        self._roles()
        self._answers_to_us()
        if not self.intents and self.text.strip():
            self._leftovers()
        self._reference()
        return self._json()

    def _language(self, locale: str | None) -> str:
        spanish, english = len(_SPANISH.findall(self.flat)), len(_ENGLISH.findall(self.flat))
        if any(char in "\u00bf\u00a1\u00f1" for char in self.text.lower()):
            spanish += 2
        if spanish == english:
            return (locale or "en")[:2]
        return "es" if spanish > english else "en"

    # days and times ---------------------------------------------------------------------------------------------------

    def _expressions(self) -> Iterator[_Found]:
        """What the calendar detects, cut where a model would cut, and joined where the calendar reads neighbours as one."""
        found = self._detected()
        detected = ((start, self._half_of_day(end)) for start, end in found if not self._is_name(start, end))
        pieces = [piece for start, end in detected for piece in self._cut(start, end)]
        at = 0
        while at < len(pieces):
            start, end, value = self._widened(*pieces[at])
            at += 1
            while at < len(pieces):
                joined = self._joined(start, end, *pieces[at])
                if joined is None:
                    break
                start, end, value = joined
                at += 1
            yield _Found(start, end, value or CalendarValue())

    def _is_name(self, start: int, end: int) -> bool:
        """Whether it is somebody's name under a mail ("June Park")."""
        lines = self.text.rstrip().split("\n")
        last = len(self.text.rstrip()) - len(lines[-1])
        return (
            len(lines) > 1
            and start >= last
            and lines[-1].istitle()
            and len(lines[-1].split()) <= 3
            and lines[-1].replace(" ", "").isalpha()
        )

    def _half_of_day(self, end: int) -> int:
        """The end of an expression with the last full stop of "a.m."."""
        return end + 1 if re.search(r"\b[ap]\.\s?m$", self.flat[:end]) and self.text[end : end + 1] == "." else end

    def _widened(self, start: int, end: int) -> tuple[int, int, CalendarValue | None]:
        """A number that says something with the article before it ("las 3", "the 9th"), and its value."""
        pronoun = re.search(
            r"(?:(?<=[ap]m)|(?<=:\d\d)|(?<=clock)|(?<=day)) ones?$", self.flat[start:end]
        )  # "the 3 pm one"
        end -= len(pronoun.group()) if pronoun else 0
        value = self._value(start, end)
        article = _ARTICLE.search(self.flat[:start])
        if (
            article
            and (value is None or article.group().strip() == "el")
            and (wider := self._value(article.start(), end)) is not None
        ):
            return article.start(), end, wider
        return start, end, value

    def _detected(self) -> list[tuple[int, int]]:
        """Where the calendar sees an expression, and days of the month named by their number alone."""
        found = [(one.start, one.end) for one in detect(self.text, (self.language,))]
        for match in _DAY_OF_MONTH.finditer(self.flat):
            start, end = match.span()
            if not any(a < end and start < b for a, b in found) and self._value(start, end) is not None:
                found.append((start, end))
        return sorted(found)

    def _cut(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of an expression that a doubt, a bracket or a move from one day to another separates, if each says something."""
        seams = _SEAM_OF_MOVE if _RESCHEDULE.search(self.flat) else _SEAM
        parts, at = [], start
        for seam in seams.finditer(self.flat, start, end):
            parts.append((at, seam.start()))
            at = seam.end()
        parts = [part for part in (*parts, (at, end)) if part[0] < part[1]]
        return parts if len(parts) > 1 and all(self._value(*part) for part in parts) else [(start, end)]

    def _joined(self, start: int, end: int, after: int, stop: int) -> tuple[int, int, CalendarValue] | None:
        gap = self.flat[end:after]
        if _JOINTS.fullmatch(gap) and (value := self._value(start, stop)) is not None:
            return start, stop, value
        if _BOUNDS.fullmatch(gap):
            before = _BETWEEN.search(self.flat[:start])
            opening = before.start() if before else start
            value = self._value(opening, stop)
            if value is not None and value.start is not None and value.end is not None:
                return opening, stop, value
        return None

    def _value(self, start: int, end: int) -> CalendarValue | None:
        """What the words state; of several readings the one that fits a record, else the first; None where they say nothing."""
        answer = resolve(self.text[start:end], self.now, self.tz, self.language, _HOURS)
        if answer.value is not None:
            return answer.value
        known = [record.start for group in self.records.values() for record in group]
        fitting = (value for value in answer.candidates if any(_fits(at, value) for at in known))
        return next(fitting, answer.candidates[0] if answer.candidates else None)

    # intents ----------------------------------------------------------------------------------------------------------

    def _add(self, kind: str, start: int, end: int) -> None:
        while start < end and not self.text[start].isalnum() and self.text[start] not in "\u00bf\u00a1":
            start += 1
        while end > start and self.text[end - 1] in " \t\n,.;:!?":
            end -= 1
        if end > start:
            self.intents.append((kind, start, end))

    def _wants(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, _, _ in self.intents)

    def _plain_intents(self) -> None:
        """What is wished apart from visits."""
        for kind, pattern in (
            ("opt_out", _OPT_OUT),
            ("access_code", _CODE),
            ("human", _HUMAN),
            ("frustration", _FRUSTRATION),
        ):
            asked = _IDENTITY.search(self.flat)
            for match in pattern.finditer(self.flat):
                if not (
                    asked and asked.start() <= match.start() < asked.end()
                ):  # "are you a real person" asks for nobody
                    self._add(kind, *match.span())
                    break
        for match in _QUESTION.finditer(self.flat):
            overlaps = any(start < match.end() and match.start() < end for _, start, end in self.intents)
            if not overlaps and not _REQUEST.search(match.group()):
                self._add("question", *match.span())

    def _tour_intents(self) -> None:
        """Wishes about visits, one of them at most; declining is beside it."""
        if match := self._cancel():
            self._add("cancel_tour", *match.span())
            return
        moved = _RESCHEDULE.search(self.flat)
        if moved is None and (self.records["tour"] or self.records["proposal"]):
            moved = _ANOTHER_TIME.search(self.flat)
        declined = _DECLINE.search(self.flat) if not moved else None
        if declined and (self.records["offer"] or self.records["proposal"]):
            self._add("decline_offer", *declined.span())
        if moved:
            self._add("reschedule_tour", *moved.span())
            return
        asked = _AVAILABILITY.search(self.flat)
        if asked and not self._wants("access_code"):
            self._add("ask_availability", *asked.span())
        elif (
            match := _REQUEST.search(self.flat) or (_COUNTER.search(self.flat) if self.found else None)
        ) and not self._taken():
            moved_on = bool(self.records["tour"]) and _INSTEAD.search(self.flat) is not None
            self._add("reschedule_tour" if moved_on else "request_tour", *match.span())

    def _cancel(self) -> re.Match[str] | None:
        for match in _CANCEL.finditer(self.flat):
            denied = _NO_CANCEL.search(self.flat[: match.start()])
            if not denied and not _CANCEL_OTHER.search(self.flat[match.end() :]) and "cancelacion" not in match.group():
                word = re.search(r"(?:cancel|anul)\w*", self.flat[match.start() :])
                if word is None or word.group() not in ("cancellation", "cancellations", "cancelled", "canceled"):
                    return match
        return None

    def _roles(self) -> None:
        """What each day and time is for, by the words around it."""
        moving = self._wants("reschedule_tour")
        for at, one in enumerate(self.found):
            before = self.flat[self.found[at - 1].end if at else 0 : one.start]
            after = self.flat[one.end :]
            sentence = re.split(r"[.?!\n]", before)[-1]
            later = at + 1 < len(self.found)
            day = one.value.date or one.value.start
            if (
                _AWAY.search(sentence)
                or _AWAY_AFTER.search(after)
                or self._told(sentence)
                or _past(day, self.now.date())
            ):
                one.role = "other"
            elif self._is_move_in(at, before, after):
                one.role = "move_in"
            elif self._wants("cancel_tour") or (moving and later and self._is_old(at, before, sentence)):
                one.role = "other"
        visits_known = self._wants("request_tour", "reschedule_tour", "ask_availability", "decline_offer")
        if not visits_known and not any(self.records.values()) and not self.answers and self.intents:
            for one in self.found:
                if one.role == "visit" and not _VISIT.search(self.flat):
                    one.role = "other"

    def _told(self, sentence: str) -> bool:
        """Whether the words right before a date tell of something that is no wish."""
        told = list(_TOLD.finditer(sentence[-60:]))
        return bool(told) and _VISIT.search(sentence[-60:][told[-1].end() + 4 :]) is None

    def _is_old(self, at: int, before: str, sentence: str) -> bool:
        """Whether a date is the one that a visit is to be moved away from."""
        continued = at > 0 and self.found[at - 1].role == "other" and _JOINTS.fullmatch(before) is not None
        named = re.search(r"\b(?:my|our|the)\s*$", sentence) and re.match(
            rf"\s*{_TOUR}\b", self.flat[self.found[at].end :]
        )
        return continued or bool(named) or _OLD.search(sentence) is not None

    def _is_move_in(self, at: int, before: str, after: str) -> bool:
        """The last word before it, or since the date before it, that says what a date is for speaks of moving in."""
        if _MOVING_AFTER.search(after):
            return True
        moves = [match.end() for match in _MOVING.finditer(before)]
        visits = [match.end() for match in _VISIT.finditer(before)]
        if not moves and not visits:
            near = bool(at) and self.found[at - 1].role == "move_in" and _JOINTS.fullmatch(before) is not None
            return near or (bool(at) and self.found[at - 1].role == "move_in" and len(before) < 8)
        return max(moves, default=-1) > max(visits, default=-1)

    # answers to what we said ------------------------------------------------------------------------------------------

    def _visits(self) -> list[_Found]:
        return [one for one in self.found if one.role == "visit"]

    def _matching(self, kind: str) -> list[_Record]:
        """Records of a kind whose start all wished days and times fit."""
        visits = self._visits() if self.found and any(one.role != "visit" for one in self.found) else self.found
        stated = [one.value for one in visits if one.value != CalendarValue()]
        if not stated:
            return []
        return [record for record in self.records[kind] if all(_fits(record.start, value) for value in stated)]

    def _ordinal(self) -> tuple[_Record, int, int] | None:
        offers = self.records["offer"]
        for pattern, place in _ORDINALS:
            match = pattern.search(self.flat)
            if match and offers and place < len(offers):
                covered = any(one.start < match.end() and match.start() < one.end for one in self.found)
                return None if covered else (offers[place], *match.span())
        return None

    def _taken(self) -> bool:
        """Whether a wish is rather the choice of an offer."""
        return self._ordinal() is not None or len(self._matching("offer")) == 1

    def _yes(self) -> tuple[int, int] | None:
        """Where a yes stands, if the text is one."""
        if _NO_YES.search(self.flat) or self._wants("reschedule_tour", "cancel_tour", "decline_offer", "request_tour"):
            return None
        match = _YES.search(self.flat)
        if match:
            return match.span("yes")
        late = _YES_LATE.search(self.flat)
        return late.span() if late else None

    def _answers_to_us(self) -> None:
        if self._wants("reschedule_tour", "cancel_tour", "opt_out"):
            return
        yes, offers, proposals = self._yes(), self.records["offer"], self.records["proposal"]
        pending = [tour for tour in self.records["tour"] if tour.state == "PROPOSED"]
        if yes and self._only_small_talk() and not _explicit(self.flat[yes[0] : yes[1]]):
            yes = None
        if offers and not self._wants("decline_offer", "request_tour", "ask_availability"):
            self._choice(yes)
        if yes and not self._wants("accept_offer") and (offers or proposals or pending or self.answers):
            start, end = self._with_visits(*yes)
            self._add("accept_offer" if offers and not proposals else "affirm", start, end)
        if yes and self._wants("accept_offer", "affirm") and not self._only_chosen(*yes):
            start, end = self._with_visits(*yes)
            self.affirmation = ("restated" if self._visits() else "bare", start, end)

    def _only_chosen(self, start: int, end: int) -> bool:
        """Whether "… works for me" chooses among offers and says no yes besides."""
        return _YES_LATE.fullmatch(self.flat, start, end) is not None and bool(self._visits() or self._ordinal())

    def _only_small_talk(self) -> bool:
        """Whether it is thanks and farewell, with a greeting and a name at most."""
        lines = self.flat.rstrip().split("\n")
        signed = (
            len(lines) > 1 and len(lines[-1].split()) <= 2 and _CLOSER.search(self.flat[: -len(lines[-1])]) is not None
        )
        said = "\n".join(lines[:-1] if signed else lines)
        return bool(_CLOSER.search(said)) and not _FILLER.sub("", _SMALL_TALK.sub(" ", _CLOSER.sub(" ", said)))

    def _choice(self, yes: tuple[int, int] | None) -> None:
        """The choice of an offer by its place in the list, its day or its time."""
        chosen = self._ordinal()
        if chosen is None and self._visits() and (yes or _TAKE.search(self.flat) or self._bare_time()):
            fitting = self._matching("offer")
            if fitting and not (self._matching("proposal") and yes):
                first, last = self._visits()[0], self._visits()[-1]
                record = fitting[0] if len(fitting) == 1 else None
                self._add("accept_offer", *self._line(first.start, last.end))
                if record:
                    self.refers = (record, *self._pointing(first.start, last.end))
                return
        if chosen is not None:
            self._add("accept_offer", *self._line(chosen[1], chosen[2]))
            self.refers = chosen

    def _bare_time(self) -> bool:
        """Whether the text is little more than days and times."""
        rest = self.flat
        for one in reversed(self.found):
            rest = rest[: one.start] + " " + rest[one.end :]
        return len(_FILLER.sub(" ", _CLOSER.sub(" ", rest)).split()) <= 3

    def _line(self, start: int, end: int) -> tuple[int, int]:
        """The sentence around a place."""
        opening = max(self.text.rfind(mark, 0, start) for mark in ("\n", "? ", "! ", ". ")) + 1
        closing = min(
            at for mark in ("\n", "?", "!", ". ") if (at := self.text.find(mark, end)) >= 0 or (at := len(self.text))
        )
        return opening, closing

    def _pointing(self, start: int, end: int) -> tuple[int, int]:
        """The words that point: "the 3 pm one" around "3 pm"."""
        before = re.search(r"\b(?:the|la de|el de|la|el)(?: las?| las)?\s*$", self.flat[:start])
        after = re.match(r"\s*(?:one|slot|time|option)\b", self.flat[end:])
        return (before.start() if before else start), (end + after.end() if after else end)

    def _with_visits(self, start: int, end: int) -> tuple[int, int]:
        """A yes with what it repeats, and the polite words after it."""
        visits = self._visits()
        if visits:
            start, end = min(start, visits[0].start), max(end, visits[-1].end)
        tail = re.match(_POLITE, self.flat[end:])
        return start, end + (tail.end() if tail else 0)

    def _leftovers(self) -> None:
        """A text that asked for nothing so far: a closer, a bare time, a question, or something else."""
        if self._only_small_talk():
            self._add("closer", 0, len(self.text))
        elif self._visits() and (self._bare_time() or _VISIT.search(self.flat)) and not _CANNOT.search(self.flat):
            self._add("request_tour", *self._line(self._visits()[0].start, self._visits()[-1].end))
        elif "?" in self.text and not _CANNOT.search(self.flat):
            self._add("question", *self._line(self.text.index("?"), self.text.index("?")))
        elif _ASKING.match(self.flat):
            self._add("question", 0, len(self.text))
        else:
            self._add("other", 0, len(self.text))
        if not self.intents:  # nothing but signs and emoji
            self.intents.append(("other", 0, len(self.text)))

    # the record -------------------------------------------------------------------------------------------------------

    def _reference(self) -> None:
        if self.refers is not None:
            return
        if self._wants("reschedule_tour", "cancel_tour"):
            self._refer(self._tour_meant(), _OURS.search(self.flat))
        elif self._wants("affirm", "accept_offer") and self.affirmation:
            _, start, end = self.affirmation
            if record := self._answered():
                self.refers = (record, start, end)

    def _refer(self, record: _Record | None, words: re.Match[str] | None) -> None:
        if record is not None:
            _, start, end = next(wish for wish in self.intents if wish[0] in ("reschedule_tour", "cancel_tour"))
            self.refers = (record, *(words.span() if words else (start, end)))

    def _tour_meant(self) -> _Record | None:
        tours = self.records["tour"] or self.records["proposal"]
        stated = [one.value for one in self.found if one.role == "other" and one.value != CalendarValue()]
        named = [tour for tour in tours if stated and all(_fits(tour.start, value) for value in stated)]
        if len(tours) == 1:
            return tours[0]
        return named[0] if len(named) == 1 else None

    def _answered(self) -> _Record | None:
        """What a yes is about: the record whose time it repeats, or the only one that waits for an answer."""
        pending = [tour for tour in self.records["tour"] if tour.state == "PROPOSED"]
        groups = [self.records["proposal"], self.records["offer"], pending]
        if self._visits():
            for kind in ("proposal", "offer", "tour"):
                if len(fitting := self._matching(kind)) == 1:
                    return fitting[0]
        waiting = [group for group in groups if group]
        if self._wants("accept_offer"):
            waiting = [group for group in (self.records["offer"],) if group]
        return waiting[0][0] if len(waiting) == 1 and len(waiting[0]) == 1 else None

    # out --------------------------------------------------------------------------------------------------------------

    def _span(self, start: int, end: int) -> Json:
        span = self.text[start:end]
        occurrence = 1
        while (place := find_span(self.text, span, occurrence)) is not None and place[0] < start:
            occurrence += 1
        return {"span": span} | ({"occurrence": occurrence} if occurrence > 1 else {})

    def _json(self) -> Json:
        intents = sorted(self.intents, key=lambda wish: wish[1])
        kind, *where = self.affirmation or ("none", 0, 0)
        refers: Json = {"kind": "none", "id": "", "span": ""}
        if self.refers is not None:
            record, start, end = self.refers
            refers = {"kind": record.kind, "id": record.id, **self._span(start, end)}
        return {
            "language": self.language,
            "intents": [{"kind": wish, **self._span(start, end)} for wish, start, end in intents],
            "mentions": [
                {
                    "role": one.role,
                    "kind": _kind(one.value),
                    **self._span(one.start, one.end),
                    "value": one.value.to_json(),
                }
                for one in self.found
            ],
            "refers_to": refers,
            "affirmation": {"kind": kind, **(self._span(*where) if self.affirmation else {"span": ""})},
        }


def _kind(value: CalendarValue) -> str:
    if value.start is not None or value.end is not None:
        return "range"
    if value.time is not None:
        return "datetime" if value.date is not None else "time"
    return "date"


def _fits(start: datetime, value: CalendarValue) -> bool:
    if value.start is not None or value.end is not None:
        return False
    return (value.date in (None, start.date())) and (value.time in (None, start.time()))


def _past(day: object, today: date) -> bool:
    day = day.date() if isinstance(day, datetime) else day
    return isinstance(day, date) and day < today


def _explicit(yes: str) -> bool:
    """Whether a word is a yes even beside thanks: "ok, great, perfect" is not."""
    return yes not in ("ok", "okay", "great", "perfect", "perfecto", "bueno", "vale", "listo")


# --- drafting ---------------------------------------------------------------------------------------------------------

# Openings by the head of an outcome word, in each language; none of them states, promises or confirms anything.
_OPENINGS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tour": (
        ("Thanks for reaching out.", "Happy to help with that.", "Thank you for your interest."),
        ("Gracias por escribirnos.", "Con gusto le ayudo.", "Gracias por su interés."),
    ),
    "ask": (
        ("Happy to help with that.", "Of course.", "Glad to help."),
        ("Con gusto le ayudo.", "Claro que sí.", "Con mucho gusto."),
    ),
    "offer": (
        ("Happy to help you find a good time.", "Glad you are interested.", "Of course."),
        ("Con gusto le ayudo a encontrar un buen momento.", "Qué bueno que le interesa.", "Claro que sí."),
    ),
    "declin": (
        ("Thanks for letting us know.", "That's all right.", "Of course."),
        ("Gracias por avisarnos.", "Está bien.", "Por supuesto."),
    ),
    "cancel": (
        ("Thanks for letting us know.", "No problem at all.", "Thank you for telling us."),
        ("Gracias por avisarnos.", "No hay problema.", "Gracias por decirnos."),
    ),
    "human": (
        ("Of course.", "Thanks for telling me.", "I understand."),
        ("Por supuesto.", "Gracias por decírmelo.", "Entiendo."),
    ),
    "": (
        ("Thanks for your message.", "Thank you for getting in touch.", "Thanks for reaching out."),
        ("Gracias por su mensaje.", "Gracias por comunicarse con nosotros.", "Gracias por escribirnos."),
    ),
}


def draft(task: Mapping[str, Any], text: str = "") -> str:
    """Friendly words without facts in the task's language, around each of its marks; which words, a digest of task and text says."""
    outcome = str(task.get("outcome", ""))
    head = next((key for key in ("cancel", "human", "declin", "offer", "ask", "tour") if key in outcome), "")
    choices = _OPENINGS[head][1 if str(task.get("locale", "en")).startswith("es") else 0]
    digest = hashlib.sha256(json.dumps([task, text], sort_keys=True).encode()).digest()
    marks = ["{{" + str(fact["mark"]) + "}}" for fact in task.get("facts", ())]
    return " ".join((choices[digest[0] % len(choices)], *marks))
