"""The ASGI application: webhooks, media sockets, health. Its life is the gateway's life."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gateway import media, webhooks
from gateway.build import Clara


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

    routes: list[BaseRoute] = [Route("/healthz", health), *webhooks.routes(clara), *media.routes(clara)]
    return Starlette(routes=routes, lifespan=lifespan)
