"""Settings: environment variables for the deployment, one TOML file for each property. Read once, at start (OP-2).

A missing or impossible value stops the start with a sentence that names the thing and the mend. Secrets come from the environment only and never show in `repr`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pipeline.core.property import DAYS, Property
from pipeline.errors import SettingsError

CHANNELS = ("voice", "sms", "email")


@dataclass(frozen=True, slots=True)
class Settings:
    """One deployment. Names of the variables stand in `VARIABLES`."""

    database_url: str
    public_url: str
    host: str
    port: int
    secret_key: str = field(repr=False)
    channels: frozenset[str]
    properties: Mapping[str, Property]
    access_codes: Mapping[str, Mapping[str, str]] = field(repr=False)
    clock_offset: float
    node: str
    twilio_account_sid: str
    twilio_auth_tokens: tuple[str, ...] = field(repr=False)
    twilio_api_url: str
    anthropic_api_key: str = field(repr=False)
    anthropic_base_url: str | None
    read_model: str
    draft_model: str
    elevenlabs_api_key: str = field(repr=False)
    elevenlabs_base_url: str
    elevenlabs_voice_id: str
    smtp_host: str
    smtp_port: int
    smtp_username: str | None
    smtp_password: str | None = field(repr=False)
    smtp_security: Literal["none", "starttls", "tls"]
    mail_path_secret: str = field(repr=False)
    mail_header_secret: str = field(repr=False)
    drain: float
    media_speed: float
    poll: float
    fallback_after: float
    turn_lease: float
    send_lease: float
    absent_after: float
    unknown_give_up: float


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable: what it is for, its default, and the capability that needs it (None: always, "" : never required)."""

    name: str
    purpose: str
    default: str | None
    needed_by: str


VARIABLES = (
    Variable("CLARA_DATABASE_URL", "database: sqlite:///FILE or postgresql://…", "sqlite:///var/clara.db", ""),
    Variable("CLARA_PUBLIC_URL", "https address under which providers reach this gateway", None, "always"),
    Variable("CLARA_HOST", "address to listen on", "127.0.0.1", ""),
    Variable("CLARA_PORT", "port to listen on", "8080", ""),
    Variable("CLARA_SECRET_KEY", "signs offers and encrypts entry codes; 32 characters or more", None, "always"),
    Variable("CLARA_CHANNELS", "enabled channels, comma-separated: voice, sms, email", "voice,sms,email", ""),
    Variable("CLARA_PROPERTIES", "folder of property files; empty: the two samples", "", ""),
    Variable("CLARA_ACCESS_CODES", 'entry codes as JSON: {"PROPERTY": {"NAME": "CODE"}}', "{}", ""),
    Variable("CLARA_CLOCK_OFFSET", "seconds by which the clock is shifted (sandbox only)", "0", ""),
    Variable("CLARA_NODE", "name of this node", "node-1", ""),
    Variable("CLARA_POLL", "seconds between looks at the database without a wake-up", "1.0", ""),
    Variable("CLARA_FALLBACK_AFTER", "seconds from a commit to the minimal text, where nothing reached the provider", "60", ""),
    Variable("CLARA_TURN_LEASE", "seconds after which the turn of a node that died is taken up by another; below CLARA_FALLBACK_AFTER", "30", ""),
    Variable("CLARA_SEND_LEASE", "seconds after which the provider is asked what became of a send that nobody reports on", "30", ""),
    Variable("CLARA_ABSENT_AFTER", "seconds after which a provider that does not know a message is believed, and it is sent again", "120", ""),
    Variable("CLARA_UNKNOWN_GIVE_UP", "seconds after which a send of unknown outcome goes to a person", "600", ""),
    Variable("CLARA_DRAIN", "seconds that a stop waits for live calls and running turns to end", "600", ""),
    Variable("CLARA_MEDIA_SPEED", "speed of the call clock (sandbox only)", "1", ""),
    Variable("TWILIO_ACCOUNT_SID", "Twilio account", None, "voice,sms"),
    Variable("TWILIO_AUTH_TOKEN", "Twilio auth token; two, comma-separated, while one is being rotated", None, "voice,sms"),
    Variable("TWILIO_API_URL", "Twilio's REST address", "https://api.twilio.com", ""),
    Variable("ANTHROPIC_API_KEY", "Anthropic key", None, "always"),
    Variable("ANTHROPIC_BASE_URL", "Anthropic's address; empty: its own", "", ""),
    Variable("CLARA_READ_MODEL", "model that reads", "claude-haiku-5-5", ""),
    Variable("CLARA_DRAFT_MODEL", "model that drafts", "claude-haiku-5-5", ""),
    Variable("ELEVENLABS_API_KEY", "ElevenLabs key", None, "voice"),
    Variable("ELEVENLABS_BASE_URL", "ElevenLabs' address", "https://api.elevenlabs.io", ""),
    Variable("ELEVENLABS_VOICE_ID", "voice that speaks", None, "voice"),
    Variable("SMTP_HOST", "mail server that sends", None, "email"),
    Variable("SMTP_PORT", "its port", "587", ""),
    Variable("SMTP_USERNAME", "its user", "", ""),
    Variable("SMTP_PASSWORD", "its password", "", ""),
    Variable("SMTP_SECURITY", "none, starttls or tls", "starttls", ""),
    Variable("CLARA_MAIL_PATH_SECRET", "secret part of the path that inbound mail is posted to", None, "email"),
    Variable("CLARA_MAIL_HEADER_SECRET", "value of the header x-clara-mail-secret of inbound mail", None, "email"),
)


def missing(environ: Mapping[str, str]) -> list[str]:
    """One sentence for each thing that an enabled capability lacks; empty where the start may go on."""
    channels = _channels(environ.get("CLARA_CHANNELS") or "voice,sms,email")
    sentences = []
    for variable in VARIABLES:
        if variable.default is not None or environ.get(variable.name):
            continue
        needed = set(variable.needed_by.split(","))
        if "always" in needed:
            sentences.append(f"{variable.name} is not set: {variable.purpose}. Set it, or start with --sandbox.")
        elif needed & channels:
            for_what = " and ".join(sorted(needed & channels))
            sentences.append(
                f"{variable.name} is not set, and {for_what} needs it: {variable.purpose}. "
                f"Set it, or take {for_what} out of CLARA_CHANNELS."
            )
    return sentences


def load(environ: Mapping[str, str]) -> Settings:
    """Settings from environment variables. Raises SettingsError with every problem, one sentence each."""
    problems = missing(environ)
    if problems:
        raise SettingsError("\n".join(problems))

    def get(name: str) -> str:
        default = next(variable.default for variable in VARIABLES if variable.name == name)
        return environ.get(name) or default or ""

    channels = _channels(get("CLARA_CHANNELS"))
    folder = get("CLARA_PROPERTIES")
    properties = load_properties(Path(folder) if folder else None)
    for prop in properties.values():
        _check_numbers(prop, channels)
    if len(get("CLARA_SECRET_KEY")) < 32:
        raise SettingsError("CLARA_SECRET_KEY is too short: use 32 characters or more, for example from `openssl rand -hex 32`.")
    if not get("CLARA_PUBLIC_URL").startswith("https://"):
        raise SettingsError("CLARA_PUBLIC_URL must begin with https:// : providers sign the public address.")
    return Settings(
        database_url=get("CLARA_DATABASE_URL"),
        public_url=get("CLARA_PUBLIC_URL").rstrip("/"),
        host=get("CLARA_HOST"),
        port=_number("CLARA_PORT", get("CLARA_PORT"), int),
        secret_key=get("CLARA_SECRET_KEY"),
        channels=channels,
        properties=properties,
        access_codes=_codes(get("CLARA_ACCESS_CODES"), properties),
        clock_offset=_number("CLARA_CLOCK_OFFSET", get("CLARA_CLOCK_OFFSET"), float),
        node=get("CLARA_NODE"),
        twilio_account_sid=get("TWILIO_ACCOUNT_SID"),
        twilio_auth_tokens=tuple(filter(None, get("TWILIO_AUTH_TOKEN").split(","))),
        twilio_api_url=get("TWILIO_API_URL"),
        anthropic_api_key=get("ANTHROPIC_API_KEY"),
        anthropic_base_url=get("ANTHROPIC_BASE_URL") or None,
        read_model=get("CLARA_READ_MODEL"),
        draft_model=get("CLARA_DRAFT_MODEL"),
        elevenlabs_api_key=get("ELEVENLABS_API_KEY"),
        elevenlabs_base_url=get("ELEVENLABS_BASE_URL"),
        elevenlabs_voice_id=get("ELEVENLABS_VOICE_ID"),
        smtp_host=get("SMTP_HOST"),
        smtp_port=_number("SMTP_PORT", get("SMTP_PORT"), int),
        smtp_username=get("SMTP_USERNAME") or None,
        smtp_password=get("SMTP_PASSWORD") or None,
        smtp_security=_security(get("SMTP_SECURITY")),
        mail_path_secret=get("CLARA_MAIL_PATH_SECRET"),
        mail_header_secret=get("CLARA_MAIL_HEADER_SECRET"),
        drain=_number("CLARA_DRAIN", get("CLARA_DRAIN"), float),
        media_speed=_number("CLARA_MEDIA_SPEED", get("CLARA_MEDIA_SPEED"), float),
        poll=_seconds("CLARA_POLL", get("CLARA_POLL")),
        fallback_after=_seconds("CLARA_FALLBACK_AFTER", get("CLARA_FALLBACK_AFTER")),
        turn_lease=_seconds("CLARA_TURN_LEASE", get("CLARA_TURN_LEASE")),
        send_lease=_seconds("CLARA_SEND_LEASE", get("CLARA_SEND_LEASE")),
        absent_after=_seconds("CLARA_ABSENT_AFTER", get("CLARA_ABSENT_AFTER")),
        unknown_give_up=_seconds("CLARA_UNKNOWN_GIVE_UP", get("CLARA_UNKNOWN_GIVE_UP")),
    )


def load_properties(folder: Path | None) -> dict[str, Property]:
    """All properties of a folder, by id; None for the two samples. Raises SettingsError naming file and line of thought."""
    if folder is not None and not folder.is_dir():
        raise SettingsError(f"CLARA_PROPERTIES names {folder}, which is no folder. Make it, with one TOML file for each property.")
    source = files("gateway") / "properties" if folder is None else folder
    found: dict[str, Property] = {}
    for entry in sorted(source.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            prop = parse_property(entry.name, entry.read_text("utf-8"))
            if prop.id in found:
                raise SettingsError(f"{entry.name}: the id {prop.id!r} is used by another property file.")
            found[prop.id] = prop
    if not found:
        raise SettingsError("There is no property file. Each property needs one TOML file; see gateway/properties for samples.")
    return found


def parse_property(name: str, text: str) -> Property:
    """One property file. Raises SettingsError with the file's name, the key and the mend."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"{name}: not valid TOML: {problem}.") from problem
    known = set(Property.__dataclass_fields__)
    for key in data:
        if key not in known:
            raise SettingsError(f"{name}: the key {key!r} is not known. Known keys: {', '.join(sorted(known))}.")
    for key in ("id", "name", "tz", "locale", "address", "public_phone", "office_hours"):
        if key not in data:
            raise SettingsError(f"{name}: the key {key!r} is missing.")
    try:
        ZoneInfo(data["tz"])
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise SettingsError(f"{name}: tz {data['tz']!r} is no IANA time zone; an example is America/Chicago.") from problem
    try:
        data["office_hours"] = {
            day: tuple((time.fromisoformat(opens), time.fromisoformat(closes)) for opens, closes in spans)
            for day, spans in data["office_hours"].items()
        }
        data["closures"] = frozenset(date.fromisoformat(day) for day in data.get("closures", ()))
        if "quiet_hours" in data:
            start, end = data["quiet_hours"]
            data["quiet_hours"] = (time.fromisoformat(start), time.fromisoformat(end))
    except (TypeError, ValueError, AttributeError) as problem:
        raise SettingsError(f"{name}: a day or time is not readable ({problem}). Times are HH:MM, days YYYY-MM-DD.") from problem
    strange = set(data["office_hours"]) - set(DAYS)
    if strange:
        raise SettingsError(f"{name}: office_hours has {', '.join(sorted(strange))}; the days are {', '.join(DAYS)}.")
    return Property(**data)


def _security(text: str) -> Literal["none", "starttls", "tls"]:
    match text:
        case "none" | "starttls" | "tls":
            return text
    raise SettingsError(f"SMTP_SECURITY is {text!r}; it is none, starttls or tls.")


def _channels(text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    strange = names - set(CHANNELS)
    if strange:
        raise SettingsError(f"CLARA_CHANNELS has {', '.join(sorted(strange))}; the channels are {', '.join(CHANNELS)}.")
    return names


def _check_numbers(prop: Property, channels: frozenset[str]) -> None:
    for channel in sorted(channels & {"voice", "sms"}):
        if channel not in prop.numbers:
            raise SettingsError(
                f"Property {prop.id!r} has no number for {channel}: add it under [numbers], or take {channel} out of CLARA_CHANNELS."
            )
    if "email" in channels and not prop.mail_address:
        raise SettingsError(f"Property {prop.id!r} has no mail_address: add it, or take email out of CLARA_CHANNELS.")


def _codes(text: str, properties: Mapping[str, Property]) -> dict[str, dict[str, str]]:
    try:
        codes = json.loads(text)
        found = {str(prop): {str(k): str(v) for k, v in values.items()} for prop, values in codes.items()}
    except (ValueError, AttributeError) as problem:
        raise SettingsError('CLARA_ACCESS_CODES is no JSON of the form {"PROPERTY": {"NAME": "CODE"}}.') from problem
    strange = set(found) - set(properties)
    if strange:
        raise SettingsError(f"CLARA_ACCESS_CODES names properties that do not exist: {', '.join(sorted(strange))}.")
    return found


def _number(name: str, text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError as problem:
        raise SettingsError(f"{name} is {text!r}, which is no number.") from problem


def _seconds(name: str, text: str) -> float:
    """A span of time; one that is zero, negative or endless would never let go or never wait."""
    value = float(_number(name, text, float))
    if not 0 < value < float("inf"):
        raise SettingsError(f"{name} is {text!r}; it is a number of seconds above 0.")
    return value
