"""Refusals as OpenAI's API words them: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException


class Refusal(Exception):
    """An answer that is no result. ``message``: one line, for a person."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code


def answer(refusal: Refusal) -> JSONResponse:
    """Return the response. An overloaded service says when to ask again."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    message = " ".join(refusal.message.split())
    error = {"message": message, "type": kind, "param": refusal.param, "code": refusal.code}
    headers = {"Retry-After": "1"} if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return JSONResponse({"error": error}, refusal.status, headers)


def add_handlers(app: FastAPI) -> None:
    """Have ``app`` answer in this form, also where FastAPI itself refuses."""

    @app.exception_handler(Refusal)
    async def refused(_request: Request, error: Refusal) -> JSONResponse:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = [str(part) for part in first["loc"] if part != "body"]
        param = where[0] if where and first["type"] != "json_invalid" else None
        message = f"{param}: {first['msg']}" if param else first["msg"]
        return answer(Refusal(HTTPStatus.BAD_REQUEST, message, param=param))

    @app.exception_handler(HTTPException)
    async def failed(_request: Request, error: HTTPException) -> JSONResponse:
        return answer(Refusal(error.status_code, str(error.detail)))
