"""`clara doctor`: what is configured, what is missing, and what answers, in sentences (OP-2)."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.settings import VARIABLES, Settings, load, missing
from pipeline.errors import ClaraError


def run(environ: Mapping[str, str]) -> int:
    """Prints the findings; 0 where a gateway would start."""
    sentences, good = examine(environ)
    print("\n".join(sentences))
    return 0 if good else 1


def examine(environ: Mapping[str, str]) -> tuple[list[str], bool]:
    """Sentences about a deployment, and whether it would start. No secret is in any of them."""
    try:
        lacking = missing(environ)
        if lacking:
            return (["These things are missing:", *(f"  - {sentence}" for sentence in lacking)], False)
        settings = load(environ)
    except ClaraError as problem:
        return ([f"The settings do not hold: {problem}"], False)
    sentences = [_channels(settings)]
    sentences += [
        f"Property {prop.id!r} is {prop.name}, {prop.tz}, speaks {prop.locale}; numbers: {', '.join(prop.numbers.values()) or 'none'}; "
        f"mail: {prop.mail_address or 'none'}."
        for prop in settings.properties.values()
    ]
    set_by_hand = [variable.name for variable in VARIABLES if environ.get(variable.name)]
    sentences.append(f"Set by environment: {', '.join(set_by_hand)}.")
    if settings.clock_offset:
        sentences.append(f"The clock is shifted by {settings.clock_offset:.0f} s: this is for the sandbox only.")
    database = _database(settings)
    sentences.append(database or "The database answers and is up to date.")
    return sentences, database is None


def _channels(settings: Settings) -> str:
    return f"Enabled channels: {', '.join(sorted(settings.channels))}. Providers reach this gateway at {settings.public_url}."


def _database(settings: Settings) -> str | None:
    """A sentence about what is wrong with the database, or None."""
    from sqlalchemy.exc import SQLAlchemyError

    from storage.migrate import upgrade

    try:
        upgrade(settings.database_url)
    except (SQLAlchemyError, OSError, ClaraError) as problem:
        kind = settings.database_url.split("://")[0]
        return f"The database ({kind}) does not answer: {str(problem).splitlines()[0]}. Check CLARA_DATABASE_URL."
    return None
