"""The two text channels as adapters: an inbound becomes an `Arrival`, a passed string becomes bytes (TX-3). No policy lives here.

A third channel is added beside them: `arrival(...)` in, `wrap(...)` out. What is new text in a mail, what a form states and whether a machine wrote it is asked
of the pure core; whom it concerns and what follows is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipeline.compose import payload
from pipeline.core.gate import Outgoing, Passed, RecordState, Secret, gate
from pipeline.core.mail import automail
from pipeline.core.mail.lead import Lead, parse_lead
from pipeline.core.plan import Plan
from pipeline.core.property import Property
from pipeline.core.segments import Prose
from pipeline.ports import Ids
from pipeline.store import Arrival, Payload, PromisedRow
from text_channels.email_codec import InboundMail, OutboundMail, build_mail, new_text, undisputed_body
from text_channels.sms_codec import InboundText

# Values of leads of these kinds were carried here by a machine or a third party; the words of a form are the customer's own (UN-2).
MACHINE_DERIVED = frozenset({"portal", "forward", "digest"})


_REPLY = re.compile(r"^(?:\s*(?:re|rv|aw|sv)\s*:)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SmsChannel:
    """Texts. The payload is the passed string itself."""

    ids: Ids

    def arrival(self, text: InboundText, prop: Property, now: datetime) -> Arrival:
        """What arrived, for the inbox. A picture without words still is a message."""
        return Arrival(
            id=self.ids.new(),
            turn=self.ids.new(),
            conversation=self.ids.new(),
            person=self.ids.new(),
            matter=self.ids.new(),
            provider="twilio",
            provider_id=text.message_sid,
            channel="sms",
            property=prop.id,
            address=text.sender,
            our_address=text.recipient,
            text=text.body,
            received_at=now,
            due_at=now + timedelta(seconds=prop.burst_seconds),
            raw=text.body.encode(),
            automatic=text.sender in (text.recipient, *prop.numbers.values()),  # our own words come back: never answered (TX-2)
        )

    def wrap(self, row: PromisedRow, passed: Passed, prop: Property, now: datetime) -> Payload:
        return payload(passed)


@dataclass(frozen=True, slots=True)
class MailChannel:
    """Mails: raw MIME in, a whole MIME message out, threaded."""

    ids: Ids

    def arrival(self, raw: bytes, mail: InboundMail, prop: Property, sent: Sequence[str], now: datetime) -> Arrival:
        """What arrived, for the inbox. `sent` are bodies that we sent in this thread; they are history wherever they stand."""
        label, _ = automail.classify(mail.headers, mail.subject, mail.text or "")
        labelled = new_text(mail, sent)
        lead = _lead(mail, prop, now)
        text = lead.comments if lead is not None else labelled.new_text
        address = (lead.email if lead is not None else None) or mail.reply_to or mail.from_address
        # Forms and portals mark real leads as automatic; a lead that names its person is one (TX-2).
        automatic = automail.is_automatic(label) and not (lead is not None and (lead.email or lead.relay) and lead.kind != "digest")
        return Arrival(
            id=self.ids.new(),
            turn=self.ids.new(),
            conversation=self.ids.new(),
            person=self.ids.new(),
            matter=self.ids.new(),
            provider="mail",
            provider_id=_identity(mail, labelled.new_text),
            channel="email",
            property=prop.id,
            address=address.lower(),
            our_address=prop.mail_address,
            text=text,
            received_at=now,
            due_at=now + timedelta(seconds=prop.burst_seconds),
            raw=raw,
            subject=mail.subject,
            message_id=mail.message_id,
            thread=tuple(dict.fromkeys(((mail.in_reply_to,) if mail.in_reply_to else ()) + mail.references)),
            form=_form(lead),
            lineage="machine_derived" if lead is not None and lead.kind in MACHINE_DERIVED else "prospect_stated",
            name=(lead.name if lead is not None else None) or mail.from_name or None,
            automatic=automatic or address.lower() in ("", prop.mail_address.lower()),  # nobody, or ourselves
        )

    def wrap(self, row: PromisedRow, passed: Passed, prop: Property, now: datetime) -> Payload:
        """The passed string as the body of a mail. Its Message-ID is the intent's: equal on every try (SR-3)."""
        domain = prop.mail_address.rpartition("@")[2]
        message_id = f"<{row.id}@{domain}>"
        mail = OutboundMail(
            message_id=message_id,
            from_address=row.sender,
            from_name=prop.name,
            to=(row.recipient,),
            subject=subject(row, prop),
            text=passed.text,
            date=now,
            in_reply_to=row.reply_to,
            references=row.references,
            auto_submitted="auto-replied" if row.reply_to else "auto-generated",
        )
        return payload(passed, build_mail(mail), message_id)


def subject(row: PromisedRow, prop: Property) -> str:
    """The customer's own subject as a reply where the gate lets it pass, so that threads hold together; else the property's name (OG-1)."""
    own = _REPLY.sub("", row.subject or "").strip()[:200]
    if own and _passes(own, row):
        return f"Re: {own}"
    return prop.name if _passes(prop.name, row) else ""


def _passes(line: str, row: PromisedRow) -> bool:
    """A subject goes through the gate like a body: with the record that the mail speaks of, and with everything that must not leave (IN-3, IN-5)."""
    outgoing = Outgoing(
        (Prose(line),),
        row.locale,
        "email",
        purpose=row.purpose,
        committing=True,
        record=RecordState(Plan.from_json(row.plan).record_state or row.tour_state),
        before=row.released,
        secrets=tuple(Secret(kind, value) for kind, value in row.secrets),
    )
    return gate(outgoing).passed is not None


def _lead(mail: InboundMail, prop: Property, now: datetime) -> Lead | None:
    body = undisputed_body(mail)
    return parse_lead(mail.headers, body, prop.locale, prop.local(now), prop.zone, prop.office_hours) if body.strip() else None


def _form(lead: Lead | None) -> dict[str, Any] | None:
    if lead is None or lead.kind not in ("form", "portal", "forward"):
        return None
    return {
        "move_in": lead.move_in.isoformat() if lead.move_in else None,
        "tour_times": [value.isoformat(timespec="minutes") for value in lead.tour_times],
    }


def _identity(mail: InboundMail, words: str) -> str:
    """One mail, whatever road it came by: Message-ID, date and words; a Message-ID alone proves nothing."""
    date = mail.date.isoformat() if mail.date else ""
    return hashlib.sha256("\x1f".join((mail.message_id, date, " ".join(words.split()))).encode("utf-8", "replace")).hexdigest()
