"""How a gateway is wired to a sandbox: the environment variables that name its addresses and keys, and a world for the sample properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.settings import load_properties
from scripts.sandbox.world import World

PUBLIC_URL = "https://clara.example"
SECRET_KEY = "sandbox-secret-key-of-no-deployment-0123456789"
ACCESS_CODES = '{"camellia": {"building": "4471"}, "jacaranda": {"building": "9035"}}'


def new_world(gateway_url: str, *, offset: float = 0.0, speed: float = 1.0, seed: int = 0) -> World:
    """A world whose numbers are those of the sample properties."""
    numbers = tuple(dict.fromkeys(number for prop in load_properties(None).values() for number in prop.numbers.values()))
    return World(
        gateway_url=gateway_url, public_url=PUBLIC_URL, offset_seconds=offset, numbers=numbers, speed=speed, seed=seed
    )


def environment(sandbox: Mapping[str, Any], **more: str) -> dict[str, str]:
    """Variables for a gateway, from `Sandbox.describe()`; `more` adds or replaces some."""
    keys = sandbox["keys"]
    return {
        "CLARA_PUBLIC_URL": sandbox["public"],
        "CLARA_SECRET_KEY": SECRET_KEY,
        "CLARA_ACCESS_CODES": ACCESS_CODES,
        "CLARA_CLOCK_OFFSET": str(sandbox["offset_seconds"]),
        "TWILIO_ACCOUNT_SID": keys["twilio_account_sid"],
        "TWILIO_AUTH_TOKEN": keys["twilio_auth_token"],
        "TWILIO_API_URL": sandbox["twilio"],
        "ANTHROPIC_API_KEY": keys["anthropic_api_key"],
        "ANTHROPIC_BASE_URL": sandbox["anthropic"],
        "ELEVENLABS_API_KEY": keys["elevenlabs_api_key"],
        "ELEVENLABS_BASE_URL": sandbox["elevenlabs"],
        "ELEVENLABS_VOICE_ID": keys["elevenlabs_voice_id"],
        "SMTP_HOST": sandbox["smtp"]["host"],
        "SMTP_PORT": str(sandbox["smtp"]["port"]),
        "SMTP_USERNAME": keys["smtp_username"],
        "SMTP_PASSWORD": keys["smtp_password"],
        "SMTP_SECURITY": "none",
        "CLARA_MAIL_PATH_SECRET": keys["mail_path_secret"],
        "CLARA_MAIL_HEADER_SECRET": keys["mail_header_secret"],
    } | more
