"""Tools from everywhere under one runtime that makes them safe and quick.

What a tool's author needs stands here and is cheap to import::

    from vixio.tools import ToolContext, tool, toolbox

``runtime`` runs the calls, ``source`` is the interface of wherever tools come from: Python
(``local``), what is built in (``builtin``), MCP servers (``mcp``), REST services (``rest``).
"""

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.tools.decorator import tool, toolbox

__all__ = ["ToolContext", "ToolError", "tool", "toolbox"]
