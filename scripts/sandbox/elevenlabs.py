"""ElevenLabs on loopback: realtime transcription and speech synthesis, over the vendor's wire.

The two halves know nothing of each other: `elevenlabs_stt` hears marked audio, `elevenlabs_tts` makes it.
"""

from __future__ import annotations

from starlette.routing import BaseRoute

from scripts.sandbox import elevenlabs_stt, elevenlabs_tts
from scripts.sandbox.world import World


def routes(world: World) -> list[BaseRoute]:
    """The endpoints of both halves."""
    return [*elevenlabs_stt.routes(world), *elevenlabs_tts.routes(world)]
