"""Whether a node may join: it speaks the same protocol and knows the same secret."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from typing import Any, Final

from vixio import __version__
from vixio.cluster.nats.link import Link, NobodyThere
from vixio.cluster.nats.names import JOIN, PROTOCOL, proof_of
from vixio.core.metrics import Counters

JOIN_S: Final = 2.0
"""Longest wait for a node of the cluster. Without an answer the node joins: what it says is ignored
by those that do not agree."""


class Joining:
    """Asks for a node, and answers for the cluster. ``peers``: returns the other nodes."""

    def __init__(
        self,
        node: str,
        secret: str,
        link: Link,
        peers: Callable[[], Sequence[str]],
        counters: Counters,
    ) -> None:
        self._node = node
        self._secret = secret
        self._link = link
        self._peers = peers
        self._counters = counters
        self.others: frozenset[str] = frozenset()
        """The nodes that there were when this one asked."""
        link.answer(JOIN, self._answer, queue="join")

    async def ask(self) -> str:
        """Return why the node may not join; empty: it may. Raises BrokerError."""
        body = {
            "node": self._node,
            "protocol": PROTOCOL,
            "version": __version__,
            "proof": proof_of(self._secret, self._node),
        }
        try:
            answer = await self._link.request(JOIN, body, JOIN_S)
        except (NobodyThere, TimeoutError):
            return ""
        self.others = frozenset(map(str, answer.get("nodes", ()))) - {self._node}
        return str(answer.get("refused") or "")

    async def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        node, version = str(body["node"]), str(body["version"])
        if body["protocol"] != PROTOCOL:
            self._counters.add("cluster.messages.protocol")
            return {
                "refused": f"this is Vixio {version}, and the nodes of the cluster run "
                f"{__version__}, which speaks another protocol: stop them all before the first "
                "one starts anew"
            }
        if not hmac.compare_digest(str(body["proof"]), proof_of(self._secret, node)):
            self._counters.add("cluster.messages.secret")
            return {
                "refused": "cluster.secret is not that of the other nodes: all need the same one"
            }
        return {"refused": "", "nodes": [self._node, *self._peers()]}
