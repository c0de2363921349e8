// Words of access points.

import { addWords } from "../lib/i18n.js";

addWords({
  en: {
    "access.title": "Your own MCP servers",
    "access.about": "An address at which MCP servers connect from wherever they run, such as with mcp_pipe.py. Their tools are there while they are connected, for nobody else.",
    "access.make": "Create an address",
    "access.once": "Whoever knows this address can add tools. It is shown this once: copy it now.",
    "access.qr": "The address as a QR code",
    "access.nobody": "No server is connected.",
    "access.tools": "{count} tools",
    "access.tools.one": "1 tool",
    "access.again": "Another address",
    "access.again.title": "Create another address?",
    "access.again.text": "The address that there is becomes void, and servers that use it are disconnected.",
    "access.revoke": "Revoke",
    "access.revoke.title": "Revoke the address?",
    "access.revoke.text": "Servers that use it are disconnected at once, and their tools are gone.",
    "access.revoked": "The address is revoked.",
  },
  zh: {
    "access.title": "自己的 MCP 服务器",
    "access.about": "MCP 服务器无论在哪里运行，都可以连接到这个地址，例如用 mcp_pipe.py。连接期间可以使用它们的工具，其他人看不到。",
    "access.make": "创建地址",
    "access.once": "知道这个地址的人都可以添加工具。它只显示这一次，请现在复制。",
    "access.qr": "地址的二维码",
    "access.nobody": "没有服务器连接。",
    "access.tools": "{count} 个工具",
    "access.again": "更换地址",
    "access.again.title": "要更换地址吗？",
    "access.again.text": "现有的地址将失效，使用它的服务器会断开。",
    "access.revoke": "撤销",
    "access.revoke.title": "要撤销这个地址吗？",
    "access.revoke.text": "使用它的服务器会立即断开，它们的工具随之消失。",
    "access.revoked": "地址已撤销。",
  },
});
