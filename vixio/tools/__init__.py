"""Tools from any source, under one runtime with the same rules for all.

What the author of a tool needs stands here and is cheap to import::

    from vixio.tools import Deferred, ToolContext, ToolError, tool, toolbox

``runtime`` runs the calls. ``source`` is the interface of tool sources: Python functions
(``local``), built-in tools (``builtin``), MCP servers (``mcp``), REST services (``rest``), and the
types of other packages (``registry``).
"""

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.late import Deferred
from vixio.tools.decorator import tool, toolbox

__all__ = ["Deferred", "ToolContext", "ToolError", "tool", "toolbox"]
