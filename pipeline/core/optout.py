"""Does a message revoke, give or ask about consent to be written to? Words in every supported language (SR-7). Pure.

Theory. Consent may be revoked by any reasonable means, so the carriers' bare keywords are only the beginning: "take me
off your list", "ya no me escriban" count as much as STOP. On the other side a leasing office hears these very words all
day about other things: to stop by, to end a lease, to cancel a tour, planta baja. So a *bare* keyword counts when it is
all that is said (politeness aside), and inside a longer text only phrases count that speak of messages, of lists and
numbers, or of being left alone. In doubt between revocation and ordinary talk the safer label is `revoke`; a lone "no"
is `ambiguous`, for it answers whatever was asked before.

These words act first and alone, without a reading. CANCEL, END and QUIT are both a revocation (a carrier blocks the
number whatever was meant) and perhaps a wish to cancel a visit: `also_cancels` tells them apart.

Invariants: both languages are looked for in every text, since people mix them and a locale can be wrong; case, accents,
typographic variants and spaced letters make no difference; the text of our own footers ("Reply STOP to …") never counts.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

Label = Literal["revoke", "not_optout", "ambiguous", "help", "optin"]

_READ: Final = 4_000  # characters that are looked at; whoever revokes says so early


def _set(text: str) -> frozenset[str]:
    return frozenset(" ".join(entry.split()) for entry in text.split("|"))


_CANCEL: Final = _set("cancel|end|quit|cancelar|cancela|cancele|cancelen|terminar|fin|cancelled|canceled|cancel all")
_ALONE: Final = _CANCEL | _set(
    "para|alto|alto todo|parar|parar todo|salir|exit|remove|delete|td|arret|revoke|pare|paren|detener|detente|detengan|borrar|eliminar|quitar|"
    "basta|ya basta|no mas|ya no mas|no more|enough|stop it|stop this|stop that|spam|this is spam|esto es spam|esto es un spam|opt|out|baja total|"
    "stop please stop|remove me|remove us|delete me|quitenme|quiteme|quitame|saquenme|saqueme|borrenme|borreme|eliminenme|go away|get lost"
)
"""What revokes when it is all that is said."""
_CLAUSE: Final = _set(
    "stop|stopp|stpo|sotp|st0p|stopall|stop all|stop now|stop everything|stop stop|stop stop stop|just stop|unsubscribe|unsuscribe|unsubcribe|"
    "unsubscribe me|unsubscribe all|optout|opt out|opt me out|opt us out|baja|de baja|darme de baja|deme de baja|denme de baja|dame de baja|"
    "dar de baja|quiero baja|desuscribir|desuscribirme|no molestar|no molesten|no moleste"
)
"""What revokes as a clause of its own in a longer message."""
_OPTIN: Final = _set(
    "start|unstop|restart|resume|subscribe|resubscribe|opt in|optin|opt me in|opt me back in|start again|iniciar|reanudar|alta|empezar|"
    "comenzar|suscribir|suscribirme|suscribeme|suscribanme|darme de alta|deme de alta|start texting me|you can text me again|text me again"
)
_HELP: Final = _set("help|info|ayuda|help me|informacion|necesito ayuda|i need help|auxilio|ayudame|ayudenme|more info|help info")
_NO: Final = _set(
    "no|nope|nah|no thanks|no thank you|no gracias|n|not interested|im not interested|i am not interested|no longer interested|"
    "no me interesa|ya no me interesa|no estoy interesado|no estoy interesada|no nos interesa|nevermind|never mind|no way"
)
_POLITE: Final = _set(
    "please|pls|plz|thanks|thank|you|thx|ok|okay|now|hi|hello|hey|sir|maam|sorry|immediately|asap|por|favor|porfavor|porfa|gracias|ya|hola|ahora|"
    "inmediatamente|senor|senora|disculpe|perdon|buenas|buenos|dias|tardes|noches"
)

_TALK: Final = r"(?:texting|messaging|emailing|mailing|calling|contacting|sending|spamming|bothering|harassing|writing|bugging|pestering|notifying)"
_NOUNS: Final = r"(?:messages?|msgs?|texts?|sms|emails?|e mails?|mails?|calls?|communications?|notifications?|spam|reminders?|alerts?|newsletters?|ads)"
_PLURALS: Final = r"(?:messages|texts|sms|emails|mails|calls|communications|notifications|spam|reminders|alerts|newsletters|ads)"
_CORREO: Final = r"(?:mensajes?|mensajitos?|textos?|sms|correos?|emails?|mails?|llamadas?|notificaciones|publicidad|recordatorios?|avisos|spam|whatsapps?)"
_IMPERATIVE: Final = (
    r"(?:escriba[ns]?|escribas|mande[ns]?|envie[ns]?|llame[ns]?|contacte[ns]?|contactar|moleste[ns]?|textee[ns]?|hable[ns]?|busque[ns]?|"
    r"insista[ns]?|marque[ns]?|notifique[ns]?|spamee[ns]?)"
)
_LISTS: Final = r"(?:(?:mailing |contact |text |texting |call |email |marketing |phone |distribution )?list(?! de espera)|database|system|texts?|messages?|emails?|contacts|records)"
_PHRASES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # stop texting me; quit with the messages; no "don't stop texting me"
        rf"(?<!don t )(?<!dont )(?<!not )(?<!never )(?<!t )\b(?:stop|quit|cease|end|halt|discontinue)\b(?: (?!by\b|in\b|at\b|and\b|to\b|if\b|when\b|over\b)\w+){{0,3}} (?:{_TALK}|{_NOUNS})\b",
        r"(?<!don t )(?<!dont )(?<!not )\b(?:stop|quit) (?:text|call|email|message|contact) (?:me|us)\b",
        # do not contact me again
        r"\b(?:don t|dont|do not|never|please no longer) (?:ever |please )?(?:text|message|msg|email|e mail|mail|call|contact|write|spam|bother|reach out|write to|send)"
        r"(?: (?:or|and|nor) (?:text|message|email|mail|call|contact|write))?(?: (?:to )?(?:me|us|this (?:number|phone|address)|here|my \w+|any ?more|again|anything|these|more))+(?! (?:before|after|until|till|unless|between|at \d|on|in the|during|while|when|the|a|about))",
        r"\b(?:don t|dont|do not|never) (?:text|call|message|contact|email)(?: (?:please|thanks))*$",
        r"^(?:\w+ ){1,5}(?<!bus )(?<!to )(?<!t )(?<!the )(?<!a )(?<!will )(?<!not )stop(?: (?:please|now))*$",
        rf"\bno (?:more|further|mas) (?:\w+ )?{_NOUNS}\b",
        rf"\b(?:don t|dont|do not|no longer|not|never) (?:\w+ )?(?:want|wish|like|need|care)\b(?: to)?(?: \w+){{0,5}} (?:{_PLURALS}|contacted|texted|messaged|emailed|called)\b(?! (?:before|after|about))",
        r"\b(?:don t|dont|do not|no longer|not) (?:want|wish|care) to (?:hear from|be contacted|be bothered|be on)\b",
        # lists and numbers
        rf"\b(?:take|remove|get|drop|delete|keep) (?:me|us|my \w+|this number|my phone number|our number) (?:off|from|out of)(?: of)? (?:your|this|the|that|all|any|every)(?: (?!wait)\w+)? {_LISTS}\b(?! (?:for the|of the|at the))",
        r"\b(?:take|remove|get) (?:me|us) off (?:your|this|the|that) list\b",
        r"\b(?:remove|delete|erase|lose|forget|drop|block) (?:my|this|our) (?:cell |phone |mobile )?(?:number|contact|contact info|email|e mail|phone|info)\b(?! (?:on|from the (?:lease|application)|with|and (?:add|use|replace)))",
        r"\b(?:remove|take|delete) (?:me|us)(?: (?:please|now|from everything|completely|immediately))*$",
        r"\bunsub\w*\b|\bdesu[sb]\w*crib\w*\b|\bdesinscrib\w*\b",
        rf"\bopt(?:ing|ed)? (?:me |us )?out(?: (?:of|from) (?:all|any|these|this|your|the|future|receiving|getting|further)?(?: \w+)? ?{_NOUNS}|(?: (?:please|now|of this|of these|of all|of everything|entirely))*$)",
        r"\b(?:want|like|wish|need|going) to opt out$",
        # being left alone
        r"\bleave (?:me|us) (?:alone|be)\b|\bwrong (?:number|person)\b|\bfuck off\b|\bpiss off\b|\bscrew off\b|\bnot (?:my|dana s|the right) number\b",
        r"\b(?:revoke|withdraw|rescind|cancel)\b(?: \w+){0,3} (?:consent|permission|authorization|subscription)\b",
        r"\b(?:i )?(?:never|didn t|did not|didnt) (?:sign(?:ed)? up|ask(?:ed)?|agree[d]?|consent(?:ed)?|subscribe[d]?) (?:for|to|any of)?\b(?: \w+){0,4}? ?(?:this|these|texts?|messages?|emails?)\b",
        # Spanish
        rf"\b(?:ya )?no (?:me|nos|le|les|lo|la) (?:\w+ )?{_IMPERATIVE}(?: (?:ya|mas|nada|nunca|otra vez|de nuevo|a este|al|por aqui|{_CORREO})|(?: (?:por favor|gracias))*$)",
        r"\bno (?:me|nos) (?:vuelva[ns]?|vuelvas|siga[ns]?|sigas) (?:a )?(?:escrib|llam|mand|envi|contact|molest|hostig)\w*",
        rf"\bno {_IMPERATIVE} (?:mas )?{_CORREO}\b|\bme puede[ns]? dar de baja$",
        rf"\bya no (?:me|nos) {_IMPERATIVE}\b|\bno (?:mas|me) (?:contacte[ns]?|contactar|moleste[ns]?)\b|\bno {_IMPERATIVE} mas\b",
        r"\b(?:deje|dejen|deja|dejes|pare|paren|para|cese|cesen|favor de dejar|quiero que dejen|pueden dejar) de (?:escrib|mand|envi|llam|contact|molest|text|hostig|spame|insist|fregar|chingar|joder|notific)\w*",
        rf"\bno (?:quiero|queremos|deseo|deseamos|necesito|me interesa|quisiera) (?:ya )?(?:seguir )?(?:recib\w+ )?(?:mas |sus |estos |tantos |ningun |ningunos )*{_CORREO}\b",
        rf"\bno (?:quiero|queremos|deseo|deseamos) (?:mas |ya )?que (?:me|nos) {_IMPERATIVE}\b|\bno (?:quiero|deseo) (?:seguir )?recib\w+ (?:mas|nada)\b",
        rf"\bno mas (?:\w+ )?{_CORREO}\b|\b(?:ya )?basta de {_CORREO}\b|\bsin mas {_CORREO}\b",
        r"\b(?:borr|elimin|quit|saqu|sac|remuev|remov|retir)\w* (?:ya )?(?:mi|nuestro|este) (?:numero|telefono|celular|correo|contacto|email)\b(?! (?:del contrato|de la solicitud|y))",
        r"\b(?:borr|elimin|quit|saqu|sac|remuev|remov|retir)\w*(?:me|nos) de (?:su|la|esta|sus|tu|todas?)(?: \w+)? ?(?:listas?|base|sistema|contactos|registros?|mensajes)\b(?! de espera)",
        r"\b(?:darme|darnos|denme|deme|dame|dennos|me doy|me den|me de) de baja\b(?! (?:el|la|los|las|del contrato|en el contrato|mi|un|una))",
        r"\b(?:dejen?me|dejeme|dejame|dejennos) (?:en paz|tranquil[oa])\b|\bnumero equivocado\b|\bpersona equivocada\b|\bse equivoc\w+ de (?:numero|persona)\b|\bnumero incorrecto\b",
        r"\b(?:revoco|retiro|cancelo|cancelar|anulo|anular)(?: \w+){0,2} (?:consentimiento|permiso|autorizacion|suscripcion)\b",
        r"\b(?:yo )?nunca (?:me )?(?:suscribi|inscribi|registre|autorice)\b",
    )
)
_BACK: Final = re.compile(
    r"\b(?:you (?:can|may)|please|ok to|okay to|its ok to) (?:start )?(?:text|texting|message|messaging|contact|contacting|email|emailing|write to|writing) (?:me|us) again\b|"
    r"\bopt(?:ing)? (?:me |us )?(?:back )?in\b|\b(?:re ?)?subscribe me(?: again)?\b|\bstart (?:texting|messaging|sending)\b.{0,30}\bagain\b|"
    r"\bwant (?:to (?:receive|get)|your) (?:\w+ )?(?:messages|texts|emails)(?: again)?\b|"
    r"\b(?:pueden|puede|puedes) (?:volver a )?(?:escribirme|mandarme (?:mensajes|correos)|contactarme|enviarme (?:mensajes|correos))(?: (?:otra vez|de nuevo|nuevamente))|"
    r"\b(?:pueden|puede|puedes) volver a (?:escribir|mandar|contactar|enviar)\w*|\bquiero (?:volver a )?recibir (?:\w+ )?(?:mensajes|correos|textos)\b"
)
_OWN_FOOTER: Final = re.compile(
    r"\b(?:reply|text|send|respond(?: with)?|txt|write) (?:the word )?(?:stop|end|quit|cancel|unsubscribe|help)\b(?: \w+){0,2} (?:to|for)(?: \w+){1,5}|"
    r"\b(?:responda|responde|envie|envia|conteste|escriba|mande)(?: con| la palabra)? (?:stop|baja|alto|parar|ayuda|cancelar)\b(?: \w+){0,2} para(?: \w+){1,6}"
)
_DENIED: Final = re.compile(r"\b(?:don t|dont|do not|never|didn t|not|no) (?:\w+ )?(?:want|quiero|deseo|mean)(?: to)?(?: \w+){0,2} (?:unsub\w*|opt out|darme de baja)\b")


def label_optout(text: str, locale: str) -> Label:
    """What a message says about being written to. `locale` is where the words most likely are; both are looked for."""
    del locale  # every language's words count in every text; the argument keeps the question whole for later locales
    clauses = [clause for clause in map(_plain, re.split(r"[.!?,;:\n…¡¿()]+", text[:_READ])) if clause]
    whole = _OWN_FOOTER.sub(" ", _plain(text[:_READ]))
    said = _without_courtesy(whole)
    if said in _ALONE or said in _CLAUSE:
        return "revoke"
    if said in _OPTIN or whole in _OPTIN:
        return "optin"
    if said in _HELP or whole in _HELP:
        return "help"
    if said in _NO or whole in _NO:
        return "ambiguous"
    if _revokes(whole, clauses):
        return "revoke"
    return "optin" if _BACK.search(whole) else "not_optout"


def also_cancels(text: str) -> bool:
    """Whether a bare revocation may also be meant for a visit (CANCEL, END, QUIT and their Spanish forms)."""
    return _without_courtesy(_plain(text[:_READ])) in _CANCEL


def _revokes(whole: str, clauses: list[str]) -> bool:
    if _DENIED.search(whole):
        return False
    alone = any(_without_courtesy(_OWN_FOOTER.sub(" ", clause)) in _CLAUSE for clause in clauses)
    return alone or any(pattern.search(whole) for pattern in _PHRASES)


def _plain(text: str) -> str:
    """Words only: lower case, no accents, no signs; letters that stand alone in a row are one word (S T O P)."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    words = re.findall(r"[^\W_]+", "".join(c for c in folded if not unicodedata.combining(c)))
    if len(words) > 2 and all(len(word) == 1 for word in words):
        return "".join(words)
    return " ".join(words)


def _without_courtesy(said: str) -> str:
    words = said.split()
    while words and words[0] in _POLITE:
        words.pop(0)
    while words and words[-1] in _POLITE:
        words.pop()
    return " ".join(words)
