"""The ASGI application: webhooks, media sockets, health. Its life is the gateway's life."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from gateway import media, webhooks
from gateway.build import Clara
from pipeline.errors import StorageUnavailable

log = logging.getLogger("clara.webhooks")


def make_app(clara: Clara) -> Starlette:
    """One application for one gateway; starting it starts the loops, stopping it drains them."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await clara.start()
        try:
            yield
        finally:
            await clara.stop()

    async def health(request: Request) -> Response:
        return JSONResponse({"ok": True, "node": clara.settings.node})

    async def try_again(request: Request, problem: Exception) -> Response:
        """What cannot be stored is not taken: the provider keeps it and comes again."""
        log.error("webhook.not_stored door=%s reason=%s", webhooks.door(request), problem)
        return PlainTextResponse("try again", 503)

    routes: list[BaseRoute] = [Route("/healthz", health), *webhooks.routes(clara), *media.routes(clara)]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={StorageUnavailable: try_again})
