"""Coze's own client: an agent's answers."""

from __future__ import annotations

from typing import Any

from cozepy import ChatEventType, Coze, Message, TokenAuth, ToolOutput

from tests.vendors_sdk.programs.serving import serve


def asked(base_url: str, key: str) -> Coze:
    return Coze(auth=TokenAuth(key), base_url=base_url)


def bot(base_url: str, key: str, bot_id: str) -> dict[str, Any]:
    """Return what an agent is called."""
    found = asked(base_url, key).bots.retrieve(bot_id=bot_id)
    return {"name": found.name}


def chat(
    base_url: str,
    key: str,
    bot_id: str,
    user: str,
    question: str,
    conversation: str | None = None,
    output: str = "",
    midway: bool = False,
) -> dict[str, Any]:
    """Ask a question.

    ``output``: of each tool that is called; ``midway``: cancel at the first words.
    """
    coze = asked(base_url, key)
    stream = coze.chat.stream(
        bot_id=bot_id,
        user_id=user,
        conversation_id=conversation,
        additional_messages=[Message.build_user_question_text(question)],
    )
    answer = Answer()
    for event in stream:
        answer.take(event)
        if midway and answer.pieces:
            cancelled = coze.chat.cancel(conversation_id=answer.conversation, chat_id=answer.chat)
            answer.status = str(cancelled.status.value)
            break
    if answer.calls:
        outputs = [ToolOutput(tool_call_id=each[0], output=output) for each in answer.calls]
        more = coze.chat.submit_tool_outputs(
            conversation_id=answer.conversation,
            chat_id=answer.chat,
            tool_outputs=outputs,
            stream=True,
        )
        for event in more:
            answer.take(event)
    return vars(answer)


class Answer:
    """What an agent says."""

    def __init__(self) -> None:
        self.conversation = ""
        self.chat = ""
        self.status = ""
        self.pieces: list[str] = []
        self.whole: list[str] = []
        self.follow_up: list[str] = []
        self.calls: list[tuple[str, str, str]] = []
        self.tokens = 0
        self.error: dict[str, Any] = {}

    def take(self, event: Any) -> None:  # noqa: ANN401 - of the client
        if event.chat is not None:
            self._took_chat(event.chat)
        message = event.message
        if event.event == ChatEventType.CONVERSATION_MESSAGE_DELTA:
            self.pieces.append(message.content)
        elif event.event == ChatEventType.CONVERSATION_MESSAGE_COMPLETED:
            kinds = {"answer": self.whole, "follow_up": self.follow_up}
            kinds.get(str(message.type.value), []).append(message.content)

    def _took_chat(self, chat: Any) -> None:  # noqa: ANN401 - of the client
        self.chat, self.conversation = chat.id, chat.conversation_id
        self.status = str(chat.status.value)
        if chat.last_error is not None and chat.last_error.code:
            self.error = {"code": chat.last_error.code, "words": chat.last_error.msg}
        if chat.usage is not None:
            self.tokens = chat.usage.token_count
        if chat.required_action is not None:
            self.calls = [
                (each.id, each.function.name, each.function.arguments)
                for each in chat.required_action.submit_tool_outputs.tool_calls
            ]


if __name__ == "__main__":
    serve(bot, chat)
