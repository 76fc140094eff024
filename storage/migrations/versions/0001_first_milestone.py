"""The tables of the first milestone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.types import Instant

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("our_address", sa.Text(), nullable=False),
        sa.Column("withheld", sa.Boolean(), nullable=False),
        sa.Column("token_digest", sa.Text(), nullable=False),
        sa.Column("token_expires_at", Instant(), nullable=False),
        sa.Column("token_used_at", Instant(), nullable=True),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_call")),
        sa.UniqueConstraint("provider_id", name=op.f("uq_call_provider_id")),
    )
    op.create_table(
        "claim_class",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("first_verdict_at", Instant(), nullable=True),
        sa.Column("due_at", Instant(), nullable=True),
        sa.Column("postponed_until", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim_class")),
    )
    op.create_table(
        "consent",
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("inbound", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("property", "channel", "address", "purpose", name=op.f("pk_consent")),
    )
    op.create_table(
        "delivery_event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("via", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_event")),
        sa.UniqueConstraint(
            "provider", "ref", "status", "error", name=op.f("uq_delivery_event_provider_ref_status_error")
        ),
    )
    op.create_index(op.f("ix_delivery_event_intent"), "delivery_event", ["intent"], unique=False)
    op.create_index(op.f("ix_delivery_event_ref"), "delivery_event", ["ref"], unique=False)
    op.create_table(
        "duty",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("due_at", Instant(), nullable=False),
        sa.Column("opened_by", sa.Text(), nullable=False),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("discharged_by", sa.Text(), nullable=True),
        sa.Column("discharged_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_duty")),
    )
    op.create_index(op.f("ix_duty_conversation"), "duty", ["conversation"], unique=False)
    op.create_index(
        "ix_duty_due",
        "duty",
        ["due_at"],
        unique=False,
        sqlite_where=sa.text("discharged_at IS NULL"),
        postgresql_where=sa.text("discharged_at IS NULL"),
    )
    op.create_table(
        "heartbeat",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("node", "role", name=op.f("pk_heartbeat")),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("moved_by", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
    )
    op.create_table(
        "property",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("registered_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_property")),
    )
    op.create_table(
        "review_item",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("first_at", Instant(), nullable=False),
        sa.Column("last_at", Instant(), nullable=False),
        sa.Column("paged_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_item")),
    )
    op.create_index(
        "uq_review_item_open",
        "review_item",
        ["property", "signature"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "suppression",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "address", name=op.f("pk_suppression")),
    )
    op.create_table(
        "switch",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("off", sa.Boolean(), nullable=False),
        sa.Column("changed_at", Instant(), nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_switch")),
    )
    op.create_table(
        "trace_clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trace_clock")),
    )
    op.create_table(
        "trace_event",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=True),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("personal", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("topic", "epoch", "seq", name=op.f("pk_trace_event")),
        sa.UniqueConstraint("position", name=op.f("uq_trace_event_position")),
    )
    op.create_index(op.f("ix_trace_event_turn"), "trace_event", ["turn"], unique=False)
    op.create_table(
        "trace_topic",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("topic", name=op.f("pk_trace_topic")),
    )
    op.create_table(
        "webhook_seen",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("provider", "key", name=op.f("pk_webhook_seen")),
    )
    op.create_table(
        "access_code",
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["property"], ["property.id"], name=op.f("fk_access_code_property")),
        sa.PrimaryKeyConstraint("property", "number", name=op.f("pk_access_code")),
    )
    op.create_table(
        "conversation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("our_address", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("call", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("trace_seq", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("owner_since", Instant(), nullable=True),
        sa.Column("owner_by", sa.Text(), nullable=True),
        sa.Column("locale", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_conversation_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation")),
    )
    op.create_index(op.f("ix_conversation_person"), "conversation", ["person"], unique=False)
    op.create_index(
        "uq_conversation_call",
        "conversation",
        ["call"],
        unique=True,
        sqlite_where=sa.text("call IS NOT NULL"),
        postgresql_where=sa.text("call IS NOT NULL"),
    )
    op.create_index(
        "uq_conversation_open",
        "conversation",
        ["property", "channel", "address"],
        unique=True,
        sqlite_where=sa.text("state = 'open' AND call IS NULL"),
        postgresql_where=sa.text("state = 'open' AND call IS NULL"),
    )
    op.create_table(
        "identity",
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("verified_how", sa.Text(), nullable=True),
        sa.Column("verified_at", Instant(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_identity_person")),
        sa.PrimaryKeyConstraint("property", "kind", "address", name=op.f("pk_identity")),
    )
    op.create_index(op.f("ix_identity_person"), "identity", ["person"], unique=False)
    op.create_table(
        "utterance",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=True),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("heard", sa.Text(), nullable=False),
        sa.Column("heard_whole", sa.Boolean(), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["call"], ["call.id"], name=op.f("fk_utterance_call")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_utterance")),
    )
    op.create_index("ix_utterance_call_started_at", "utterance", ["call", "started_at"], unique=False)
    op.create_table(
        "entity",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("matter", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("starts_at", Instant(), nullable=True),
        sa.Column("ends_at", Instant(), nullable=True),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.Column("superseded_by", sa.Text(), nullable=True),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("changed_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name=op.f("fk_entity_conversation")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_entity_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entity")),
    )
    op.create_index("ix_entity_conversation_kind", "entity", ["conversation", "kind"], unique=False)
    op.create_index(
        "ix_entity_expiry",
        "entity",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'PROPOSED'"),
        postgresql_where=sa.text("state = 'PROPOSED'"),
    )
    op.create_index("ix_entity_person_kind", "entity", ["person", "kind"], unique=False)
    op.create_table(
        "matter",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("closed_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name=op.f("fk_matter_conversation")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_matter")),
    )
    op.create_index(
        "uq_matter_open",
        "matter",
        ["conversation"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "offer",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("starts_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("token_digest", sa.Text(), nullable=False),
        sa.Column("used_at", Instant(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name=op.f("fk_offer_conversation")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_offer")),
    )
    op.create_index(
        "ix_offer_conversation",
        "offer",
        ["conversation"],
        unique=False,
        sqlite_where=sa.text("used_at IS NULL"),
        postgresql_where=sa.text("used_at IS NULL"),
    )
    op.create_index(
        "ix_offer_person",
        "offer",
        ["person"],
        unique=False,
        sqlite_where=sa.text("used_at IS NULL"),
        postgresql_where=sa.text("used_at IS NULL"),
    )
    op.create_table(
        "turn",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("our_address", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=True),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("due_at", Instant(), nullable=False),
        sa.Column("window_end", Instant(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", Instant(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=True),
        sa.Column("committed_at", Instant(), nullable=True),
        sa.Column("spoken_at", Instant(), nullable=True),
        sa.Column("settled_at", Instant(), nullable=True),
        sa.Column("ending", sa.Text(), nullable=True),
        sa.Column("health", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name=op.f("fk_turn_conversation")),
        sa.ForeignKeyConstraint(["person"], ["person.id"], name=op.f("fk_turn_person")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turn")),
    )
    op.create_index(op.f("ix_turn_call"), "turn", ["call"], unique=False)
    op.create_index(op.f("ix_turn_conversation"), "turn", ["conversation"], unique=False)
    op.create_index(
        "ix_turn_due",
        "turn",
        ["due_at"],
        unique=False,
        sqlite_where=sa.text("state IN ('committed', 'open')"),
        postgresql_where=sa.text("state IN ('committed', 'open')"),
    )
    op.create_index(
        "ix_turn_live",
        "turn",
        ["conversation"],
        unique=False,
        sqlite_where=sa.text("state IN ('committed', 'open')"),
        postgresql_where=sa.text("state IN ('committed', 'open')"),
    )
    op.create_table(
        "calendar_event",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("entity", sa.Text(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("starts_at", Instant(), nullable=False),
        sa.Column("ends_at", Instant(), nullable=True),
        sa.Column("changed_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["entity"], ["entity.id"], name=op.f("fk_calendar_event_entity")),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_calendar_event")),
        sa.UniqueConstraint("entity", name=op.f("uq_calendar_event_entity")),
    )
    op.create_table(
        "effect",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("lineage", sa.Text(), nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=True),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name=op.f("fk_effect_turn")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_effect")),
    )
    op.create_index(op.f("ix_effect_commit"), "effect", ["commit"], unique=False)
    op.create_index(op.f("ix_effect_conversation"), "effect", ["conversation"], unique=False)
    op.create_table(
        "gate_verdict",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("verdict", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name=op.f("fk_gate_verdict_turn")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gate_verdict")),
    )
    op.create_index(op.f("ix_gate_verdict_intent"), "gate_verdict", ["intent"], unique=False)
    op.create_index(op.f("ix_gate_verdict_turn"), "gate_verdict", ["turn"], unique=False)
    op.create_table(
        "inbound",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("provider_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=True),
        sa.Column("conversation", sa.Text(), nullable=True),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("our_address", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("thread", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("form", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("lineage", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=True),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.Column("call", sa.Text(), nullable=True),
        sa.Column("low_confidence", sa.Boolean(), nullable=False),
        sa.Column("received_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name=op.f("fk_inbound_conversation")),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name=op.f("fk_inbound_turn")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbound")),
        sa.UniqueConstraint("provider", "provider_id", name=op.f("uq_inbound_provider_provider_id")),
    )
    op.create_index("ix_inbound_conversation_received", "inbound", ["conversation", "received_at"], unique=False)
    op.create_index(op.f("ix_inbound_message_id"), "inbound", ["message_id"], unique=False)
    op.create_index(op.f("ix_inbound_turn"), "inbound", ["turn"], unique=False)
    op.create_table(
        "intent",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("idem", sa.Text(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("entity", sa.Text(), nullable=True),
        sa.Column("call", sa.Text(), nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("recipient_tz", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("plan", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("customer_facing", sa.Boolean(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("reply_to", sa.Text(), nullable=True),
        sa.Column("references", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("segments", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("fallback_at", Instant(), nullable=True),
        sa.Column("fell_back", sa.Boolean(), nullable=False),
        sa.Column("not_before", Instant(), nullable=True),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", Instant(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("ask_at", Instant(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("composed_at", Instant(), nullable=True),
        sa.Column("released_at", Instant(), nullable=True),
        sa.Column("accepted_at", Instant(), nullable=True),
        sa.Column("finished_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["conversation"], ["conversation.id"], name=op.f("fk_intent_conversation")),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name=op.f("fk_intent_turn")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intent")),
        sa.UniqueConstraint("idem", name=op.f("uq_intent_idem")),
    )
    op.create_index(
        "ix_intent_accepted",
        "intent",
        ["accepted_at"],
        unique=False,
        sqlite_where=sa.text("state = 'accepted'"),
        postgresql_where=sa.text("state = 'accepted'"),
    )
    op.create_index(
        "ix_intent_blocked",
        "intent",
        ["not_before"],
        unique=False,
        sqlite_where=sa.text("state = 'blocked'"),
        postgresql_where=sa.text("state = 'blocked'"),
    )
    op.create_index(op.f("ix_intent_call"), "intent", ["call"], unique=False)
    op.create_index(
        "ix_intent_composed",
        "intent",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("state = 'composed'"),
        postgresql_where=sa.text("state = 'composed'"),
    )
    op.create_index("ix_intent_conversation_created", "intent", ["conversation", "created_at"], unique=False)
    op.create_index(op.f("ix_intent_entity"), "intent", ["entity"], unique=False)
    op.create_index(
        "ix_intent_fallback",
        "intent",
        ["fallback_at"],
        unique=False,
        sqlite_where=sa.text("state IN ('composed', 'leased', 'promised')"),
        postgresql_where=sa.text("state IN ('composed', 'leased', 'promised')"),
    )
    op.create_index(
        "ix_intent_leased",
        "intent",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("state = 'leased'"),
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.create_index(op.f("ix_intent_message_id"), "intent", ["message_id"], unique=False)
    op.create_index("ix_intent_person_created", "intent", ["person", "created_at"], unique=False)
    op.create_index(
        "ix_intent_queue",
        "intent",
        ["recipient", "channel", "created_at"],
        unique=False,
        sqlite_where=sa.text("state IN ('composed', 'leased', 'sending')"),
        postgresql_where=sa.text("state IN ('composed', 'leased', 'sending')"),
    )
    op.create_index(
        "ix_intent_sending",
        "intent",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("state = 'sending'"),
        postgresql_where=sa.text("state = 'sending'"),
    )
    op.create_index(op.f("ix_intent_turn"), "intent", ["turn"], unique=False)
    op.create_index(
        "ix_intent_unknown",
        "intent",
        ["ask_at"],
        unique=False,
        sqlite_where=sa.text("state = 'unknown'"),
        postgresql_where=sa.text("state = 'unknown'"),
    )
    op.create_table(
        "proposal",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("matter", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("lineage", sa.Text(), nullable=False),
        sa.Column("spans", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("fields", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("readings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("slot", sa.Text(), nullable=True),
        sa.Column("starts_at", Instant(), nullable=True),
        sa.Column("base_version", sa.Integer(), nullable=False),
        sa.Column("key_conversation", sa.Text(), nullable=False),
        sa.Column("key_person", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("entity", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name=op.f("fk_proposal_turn")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposal")),
    )
    op.create_index(
        "ix_proposal_open_conversation",
        "proposal",
        ["conversation"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index(
        "ix_proposal_open_person",
        "proposal",
        ["person"],
        unique=False,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_index(op.f("ix_proposal_turn"), "proposal", ["turn"], unique=False)
    op.create_index(
        "uq_proposal_key_conversation",
        "proposal",
        ["key_conversation"],
        unique=True,
        sqlite_where=sa.text("status = 'committed'"),
        postgresql_where=sa.text("status = 'committed'"),
    )
    op.create_index(
        "uq_proposal_key_person",
        "proposal",
        ["key_person"],
        unique=True,
        sqlite_where=sa.text("status = 'committed'"),
        postgresql_where=sa.text("status = 'committed'"),
    )
    op.create_table(
        "review_case",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("turn", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("draft", sa.Text(), nullable=True),
        sa.Column("findings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("time_sensitive", sa.Boolean(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("last_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["review_item.id"], name=op.f("fk_review_case_item")),
        sa.ForeignKeyConstraint(["turn"], ["turn.id"], name=op.f("fk_review_case_turn")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_case")),
    )
    op.create_index(op.f("ix_review_case_conversation"), "review_case", ["conversation"], unique=False)
    op.create_index(
        "uq_review_case_open",
        "review_case",
        ["item", "conversation"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "slot_hold",
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("seat", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("property", sa.Text(), nullable=False),
        sa.Column("entity", sa.Text(), nullable=False),
        sa.Column("starts_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["entity"], ["entity.id"], name=op.f("fk_slot_hold_entity")),
        sa.PrimaryKeyConstraint("slot", "seat", name=op.f("pk_slot_hold")),
    )
    op.create_index(op.f("ix_slot_hold_entity"), "slot_hold", ["entity"], unique=False)
    op.create_index("ix_slot_hold_property_starts_at", "slot_hold", ["property", "starts_at"], unique=False)
    op.create_table(
        "attempt",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=True),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("closed_at", Instant(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("ref", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["intent"], ["intent.id"], name=op.f("fk_attempt_intent")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
        sa.UniqueConstraint("intent", "number", name=op.f("uq_attempt_intent_number")),
    )
    op.create_index(op.f("ix_attempt_ref"), "attempt", ["ref"], unique=False)
    op.execute("INSERT INTO trace_clock (id, position) VALUES (1, 0)")
