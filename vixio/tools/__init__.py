"""Tools from any source. All run under one runtime, with the same rules.

What the author of a tool needs stands here and is cheap to import::

    from vixio.tools import Deferred, ToolContext, ToolError, tool, toolbox

``vixio.core.tools.runtime`` runs the calls. The sources here: Python functions (``local``),
built-in tools (``builtin``), MCP servers (``mcp``), REST services (``rest``), services on a message
broker (``broker``), A2A agents (``a2a``), and the types of other packages (``registry``).
"""

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.late import Deferred
from vixio.tools.decorator import tool, toolbox

__all__ = ["Deferred", "ToolContext", "ToolError", "tool", "toolbox"]
