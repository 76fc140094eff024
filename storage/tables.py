"""The tables of the first milestone; names are those of the glossary.

Invariants that the database itself holds: one inbound row per provider's id; one committed proposal per key (CK-3); one seat, one entity (CK-6);
one open conversation per address; one intent per idempotency key; one delivery event per provider, reference, status and error (SR-4).
Every loop's query has an index over exactly the rows that the loop wants. Instants are UTC. The ids come from the door.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Text, UniqueConstraint

from storage.types import Instant, Json, one_of

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# A whole number that the database counts up by itself.
Serial = sa.BigInteger().with_variant(Integer, "sqlite")


def _partial(name: str, *columns: Column[object], where: sa.ColumnElement[bool], unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


# --- the property and what is switched ----------------------------------------------------------------------------

property_ = sa.Table(
    "property",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("registered_at", Instant, nullable=False),
)

access_code = sa.Table(
    "access_code",
    metadata,
    Column("property", Text, ForeignKey("property.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),  # encrypted
)

switch = sa.Table(
    "switch",
    metadata,
    Column("name", Text, primary_key=True),
    Column("off", Boolean, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("changed_by", Text, nullable=False),
)

claim_class = sa.Table(
    "claim_class",
    metadata,
    Column("name", Text, primary_key=True),
    Column("mode", Text, nullable=False),
    Column("first_verdict_at", Instant),
    Column("due_at", Instant),
    Column("postponed_until", Instant),
)

heartbeat = sa.Table(
    "heartbeat",
    metadata,
    Column("node", Text, primary_key=True),
    Column("role", Text, primary_key=True),
    Column("at", Instant, nullable=False),
)

webhook_seen = sa.Table(
    "webhook_seen",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("at", Instant, nullable=False),
)

# --- people -------------------------------------------------------------------------------------------------------

person = sa.Table(
    "person",
    metadata,
    Column("id", Text, primary_key=True),
    Column("property", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("moved_by", Text),  # the turn that moved the epoch last
    Column("name", Text),
    Column("created_at", Instant, nullable=False),
)

identity = sa.Table(
    "identity",
    metadata,
    Column("property", Text, primary_key=True),
    Column("kind", Text, primary_key=True),  # phone | email
    Column("address", Text, primary_key=True),
    Column("person", Text, ForeignKey("person.id"), nullable=False, index=True),
    Column("verified_how", Text),
    Column("verified_at", Instant),
    Column("created_at", Instant, nullable=False),
)

consent = sa.Table(
    "consent",
    metadata,
    Column("property", Text, primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("address", Text, primary_key=True),
    Column("purpose", Text, primary_key=True),
    Column("inbound", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

suppression = sa.Table(
    "suppression",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("address", Text, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

# --- conversations and turns --------------------------------------------------------------------------------------

conversation = sa.Table(
    "conversation",
    metadata,
    Column("id", Text, primary_key=True),
    Column("property", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("our_address", Text, nullable=False),
    Column("person", Text, ForeignKey("person.id"), index=True),
    Column("call", Text),
    Column("state", Text, nullable=False),  # open | resolved
    Column("epoch", Integer, nullable=False),
    Column("trace_seq", Integer, nullable=False),
    Column("owner", Text, nullable=False),  # clara | human
    Column("owner_since", Instant),
    Column("owner_by", Text),
    Column("locale", Text),
    Column("created_at", Instant, nullable=False),
)
_partial(
    "uq_conversation_open",
    conversation.c.property,
    conversation.c.channel,
    conversation.c.address,
    where=sa.and_(one_of(conversation.c.state, ["open"]), conversation.c.call.is_(None)),
    unique=True,
)
_partial("uq_conversation_call", conversation.c.call, where=conversation.c.call.is_not(None), unique=True)

matter = sa.Table(
    "matter",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation", Text, ForeignKey("conversation.id"), nullable=False),
    Column("person", Text),
    Column("rounds", Integer, nullable=False),
    Column("state", Text, nullable=False),  # open | closed
    Column("opened_at", Instant, nullable=False),
    Column("closed_at", Instant),
)
_partial("uq_matter_open", matter.c.conversation, where=one_of(matter.c.state, ["open"]), unique=True)

turn = sa.Table(
    "turn",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation", Text, ForeignKey("conversation.id"), nullable=False, index=True),
    Column("person", Text, ForeignKey("person.id")),
    Column("property", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("trigger", Text, nullable=False),  # inbound | expiry
    Column("address", Text, nullable=False),
    Column("our_address", Text, nullable=False),
    Column("call", Text, index=True),
    Column("automatic", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("window_end", Instant, nullable=False),  # a burst gathers no longer than this
    Column("lease_owner", Text),
    Column("lease_until", Instant),
    Column("fence", Integer, nullable=False),
    Column("commit", Text),
    Column("committed_at", Instant),
    Column("spoken_at", Instant),
    Column("settled_at", Instant),
    Column("ending", Text),
    Column("health", Text),
)
_partial("ix_turn_due", turn.c.due_at, where=one_of(turn.c.state, ["open", "committed"]))
_partial("ix_turn_live", turn.c.conversation, where=one_of(turn.c.state, ["open", "committed"]))

inbound = sa.Table(
    "inbound",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider", Text, nullable=False),
    Column("provider_id", Text, nullable=False),
    Column("turn", Text, ForeignKey("turn.id"), index=True),
    Column("conversation", Text, ForeignKey("conversation.id")),
    Column("person", Text),
    Column("property", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("our_address", Text, nullable=False),
    Column("name", Text),
    Column("text", Text, nullable=False),
    Column("raw", LargeBinary),
    Column("subject", Text),
    Column("message_id", Text, index=True),
    Column("thread", Json, nullable=False),
    Column("form", Json),
    Column("lineage", Text, nullable=False),
    Column("locale", Text),
    Column("automatic", Boolean, nullable=False),
    Column("call", Text),
    Column("low_confidence", Boolean, nullable=False),
    Column("received_at", Instant, nullable=False),
    UniqueConstraint("provider", "provider_id"),
)
Index("ix_inbound_conversation_received", inbound.c.conversation, inbound.c.received_at)

# --- traces -------------------------------------------------------------------------------------------------------

trace_clock = sa.Table(
    "trace_clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("position", Serial, nullable=False),
)

trace_topic = sa.Table(
    "trace_topic",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
)

trace_event = sa.Table(
    "trace_event",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("position", Serial, nullable=False, unique=True),
    Column("at", Instant, nullable=False),
    Column("turn", Text, index=True),
    Column("stage", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Json, nullable=False),
    Column("personal", Boolean, nullable=False),
)

# --- what was committed -------------------------------------------------------------------------------------------

proposal = sa.Table(
    "proposal",
    metadata,
    Column("id", Text, primary_key=True),
    Column("turn", Text, ForeignKey("turn.id"), nullable=False, index=True),
    Column("conversation", Text, nullable=False),
    Column("person", Text),
    Column("matter", Text),
    Column("action", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("spans", Json, nullable=False),
    Column("fields", Json, nullable=False),
    Column("readings", Json, nullable=False),
    Column("slot", Text),
    Column("starts_at", Instant),
    Column("base_version", Integer, nullable=False),
    Column("key_conversation", Text, nullable=False),
    Column("key_person", Text),
    Column("status", Text, nullable=False),  # open | committed | closed | superseded
    Column("entity", Text),
    Column("created_at", Instant, nullable=False),
)
_committed = one_of(proposal.c.status, ["committed"])
_partial("uq_proposal_key_conversation", proposal.c.key_conversation, where=_committed, unique=True)
_partial("uq_proposal_key_person", proposal.c.key_person, where=_committed, unique=True)
_partial("ix_proposal_open_conversation", proposal.c.conversation, where=one_of(proposal.c.status, ["open"]))
_partial("ix_proposal_open_person", proposal.c.person, where=one_of(proposal.c.status, ["open"]))

entity = sa.Table(
    "entity",
    metadata,
    Column("id", Text, primary_key=True),
    Column("domain", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("property", Text, nullable=False),
    Column("person", Text, ForeignKey("person.id")),
    Column("conversation", Text, ForeignKey("conversation.id"), nullable=False),
    Column("matter", Text),
    Column("state", Text, nullable=False),
    Column("live", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("starts_at", Instant),
    Column("ends_at", Instant),
    Column("slot", Text),
    Column("body", Json, nullable=False),
    Column("expires_at", Instant),
    Column("superseded_by", Text),
    Column("writer", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
)
Index("ix_entity_person_kind", entity.c.person, entity.c.kind)
Index("ix_entity_conversation_kind", entity.c.conversation, entity.c.kind)
_partial("ix_entity_expiry", entity.c.expires_at, where=one_of(entity.c.state, ["PROPOSED"]))

offer = sa.Table(
    "offer",
    metadata,
    Column("id", Text, primary_key=True),
    Column("property", Text, nullable=False),
    Column("conversation", Text, ForeignKey("conversation.id"), nullable=False),
    Column("person", Text),
    Column("turn", Text, nullable=False),
    Column("starts_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("token_digest", Text, nullable=False),
    Column("used_at", Instant),
    Column("created_at", Instant, nullable=False),
)
_partial("ix_offer_conversation", offer.c.conversation, where=offer.c.used_at.is_(None))
_partial("ix_offer_person", offer.c.person, where=offer.c.used_at.is_(None))

slot_hold = sa.Table(
    "slot_hold",
    metadata,
    Column("slot", Text, primary_key=True),
    Column("seat", Integer, primary_key=True, autoincrement=False),
    Column("property", Text, nullable=False),
    Column("entity", Text, ForeignKey("entity.id"), nullable=False, index=True),
    Column("starts_at", Instant, nullable=False),
    Column("expires_at", Instant),
)
Index("ix_slot_hold_property_starts_at", slot_hold.c.property, slot_hold.c.starts_at)

calendar_event = sa.Table(
    "calendar_event",
    metadata,
    Column("uid", Text, primary_key=True),
    Column("entity", Text, ForeignKey("entity.id"), nullable=False, unique=True),
    Column("sequence", Integer, nullable=False),
    Column("method", Text, nullable=False),  # REQUEST | CANCEL
    Column("starts_at", Instant, nullable=False),
    Column("ends_at", Instant),
    Column("changed_at", Instant, nullable=False),
)

duty = sa.Table(
    "duty",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("property", Text, nullable=False),
    Column("conversation", Text, nullable=False, index=True),
    Column("owner", Text),
    Column("due_at", Instant, nullable=False),
    Column("opened_by", Text, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("discharged_by", Text),
    Column("discharged_at", Instant),
)
_partial("ix_duty_due", duty.c.due_at, where=duty.c.discharged_at.is_(None))

effect = sa.Table(
    "effect",
    metadata,
    Column("id", Text, primary_key=True),
    Column("commit", Text, nullable=False, index=True),
    Column("turn", Text, ForeignKey("turn.id"), nullable=False),
    Column("property", Text, nullable=False),
    Column("conversation", Text, nullable=False, index=True),
    Column("person", Text),
    Column("channel", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("writer", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),  # the entity, or what else was changed
    Column("version", Integer),
    Column("state", Text),
    Column("body", Json, nullable=False),
    Column("at", Instant, nullable=False),
)

# --- the outbox ---------------------------------------------------------------------------------------------------

intent = sa.Table(
    "intent",
    metadata,
    Column("id", Text, primary_key=True),
    Column("idem", Text, nullable=False, unique=True),
    Column("commit", Text, nullable=False),
    Column("turn", Text, ForeignKey("turn.id"), nullable=False, index=True),
    Column("property", Text, nullable=False),
    Column("conversation", Text, ForeignKey("conversation.id"), nullable=False),
    Column("person", Text),
    Column("entity", Text, index=True),
    Column("call", Text, index=True),
    Column("purpose", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("recipient_tz", Text, nullable=False),
    Column("locale", Text, nullable=False),
    Column("plan", Json, nullable=False),
    Column("customer_facing", Boolean, nullable=False),
    Column("held", Boolean, nullable=False),
    Column("subject", Text),
    Column("reply_to", Text),
    Column("references", Json, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("payload", LargeBinary),
    Column("digest", Text),
    Column("text", Text),
    Column("segments", Json),
    Column("message_id", Text, index=True),
    Column("fallback_at", Instant),
    Column("fell_back", Boolean, nullable=False),
    Column("not_before", Instant),
    Column("expires_at", Instant),
    Column("lease_owner", Text),
    Column("lease_until", Instant),
    Column("fence", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("final", Boolean, nullable=False),  # acceptance is all the evidence there will be
    Column("rank", Integer, nullable=False),  # of the furthest delivery event
    Column("error", Text),
    Column("asked", Integer, nullable=False),
    Column("ask_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("composed_at", Instant),
    Column("released_at", Instant),  # first attempt opened
    Column("accepted_at", Instant),
    Column("finished_at", Instant),
)
Index("ix_intent_conversation_created", intent.c.conversation, intent.c.created_at)
Index("ix_intent_person_created", intent.c.person, intent.c.created_at)
_partial("ix_intent_composed", intent.c.created_at, where=one_of(intent.c.state, ["composed"]))
_partial("ix_intent_leased", intent.c.lease_until, where=one_of(intent.c.state, ["leased"]))
_partial("ix_intent_sending", intent.c.lease_until, where=one_of(intent.c.state, ["sending"]))
_partial("ix_intent_blocked", intent.c.not_before, where=one_of(intent.c.state, ["blocked"]))
_partial("ix_intent_unknown", intent.c.ask_at, where=one_of(intent.c.state, ["unknown"]))
_partial("ix_intent_accepted", intent.c.accepted_at, where=one_of(intent.c.state, ["accepted"]))
_partial("ix_intent_fallback", intent.c.fallback_at, where=one_of(intent.c.state, ["composed", "leased", "promised"]))
_partial(
    "ix_intent_queue",
    intent.c.recipient,
    intent.c.channel,
    intent.c.created_at,
    where=one_of(intent.c.state, ["composed", "leased", "sending"]),
)

attempt = sa.Table(
    "attempt",
    metadata,
    Column("id", Text, primary_key=True),
    Column("intent", Text, ForeignKey("intent.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("reference", Text, nullable=False),
    Column("node", Text),
    Column("opened_at", Instant, nullable=False),
    Column("closed_at", Instant),
    Column("outcome", Text),
    Column("code", Text),
    Column("detail", Text),
    Column("ref", Text, index=True),
    UniqueConstraint("intent", "number"),
)

delivery_event = sa.Table(
    "delivery_event",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("provider", Text, nullable=False),
    Column("ref", Text, nullable=False, index=True),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("reference", Text),
    Column("via", Text, nullable=False),
    Column("intent", Text, index=True),
    Column("at", Instant, nullable=False),
    UniqueConstraint("provider", "ref", "status", "error"),
)

gate_verdict = sa.Table(
    "gate_verdict",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("turn", Text, ForeignKey("turn.id"), nullable=False, index=True),
    Column("intent", Text, index=True),
    Column("verdict", Json, nullable=False),
    Column("at", Instant, nullable=False),
)

# --- calls --------------------------------------------------------------------------------------------------------

call = sa.Table(
    "call",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider_id", Text, nullable=False, unique=True),
    Column("property", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("our_address", Text, nullable=False),
    Column("withheld", Boolean, nullable=False),
    Column("token_digest", Text, nullable=False),
    Column("token_expires_at", Instant, nullable=False),
    Column("token_used_at", Instant),
    Column("started_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("outcome", Text),
)

utterance = sa.Table(
    "utterance",
    metadata,
    Column("id", Text, primary_key=True),
    Column("call", Text, ForeignKey("call.id"), nullable=False),
    Column("turn", Text),
    Column("speaker", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("heard", Text, nullable=False),
    Column("heard_whole", Boolean, nullable=False),
    Column("facts", Json, nullable=False),
    Column("started_at", Instant, nullable=False),
)
Index("ix_utterance_call_started_at", utterance.c.call, utterance.c.started_at)

# --- review -------------------------------------------------------------------------------------------------------

review_item = sa.Table(
    "review_item",
    metadata,
    Column("id", Text, primary_key=True),
    Column("property", Text, nullable=False),
    Column("signature", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("state", Text, nullable=False),  # open | closed
    Column("count", Integer, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    Column("paged_at", Instant),
)
_partial(
    "uq_review_item_open",
    review_item.c.property,
    review_item.c.signature,
    where=one_of(review_item.c.state, ["open"]),
    unique=True,
)

review_case = sa.Table(
    "review_case",
    metadata,
    Column("id", Text, primary_key=True),
    Column("item", Text, ForeignKey("review_item.id"), nullable=False),
    Column("conversation", Text, nullable=False, index=True),
    Column("turn", Text, ForeignKey("turn.id"), nullable=False),
    Column("intent", Text),
    Column("summary", Text, nullable=False),
    Column("draft", Text),
    Column("findings", Json, nullable=False),
    Column("time_sensitive", Boolean, nullable=False),
    Column("count", Integer, nullable=False),
    Column("state", Text, nullable=False),  # open | resolved
    Column("owner", Text),
    Column("opened_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
)
_partial(
    "uq_review_case_open",
    review_case.c.item,
    review_case.c.conversation,
    where=one_of(review_case.c.state, ["open"]),
    unique=True,
)
