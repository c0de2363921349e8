"""What a page in Chinese says in Latin letters: names, and nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.console.household import PROFILE, SAID

if TYPE_CHECKING:
    from playwright.async_api import Page

NAMES: Final = frozenset(
    re.findall(
        r"\w+",
        "Vixio API BCP BOOT CPU GET HTTP JSON MAC MCP OTA SHA SSID URL USB Xiaozhi emoji dBm http "
        "Asia Shanghai "
        "Anna Bedroom Kitchen Python admin butler "
        "espeak phrasebook pocketsphinx silero sherpa onnx kokoro openai litellm funasr moonshine "
        "whisper ten edge piper combined fallback "
        "Ark DashScope DeepSeek Doubao Edge Home Assistant GLM Joe Kimi Kokoro Moonshine Moonshot "
        "Ollama OpenAI PocketSphinx Qwen SenseVoice SiliconFlow Studio Whisper bigmodel eSpeak "
        "llama vLLM mcp_pipe py Atom Meteo Open OpenAPI RSS SearXNG Tavily iCal mcpServers true "
        # Languages by the names that they give themselves, cut at the letters with accents.
        "English Deutsch Espa Fran ais Italiano Portugu",
    )
)
"""Of protocols, products and formats, of what the household has, of providers and languages."""

WRITTEN: Final = ("feed the cat", str(PROFILE["instructions"]), str(PROFILE["wake_reply"]))

SKIPPED: Final = ", ".join(
    (
        # Names of the code, and what people have written.
        "code, .mono, textarea, script, datalist",
        # The log, and the settings by their keys.
        ".log-lines, .setting-section",
        # What was said.
        "vx-turn, .heard, .said, .turn, .fact, .line b, .home-words, .bubble",
        # Tools, as devices and servers describe them.
        ".tool-card p, .tool-card label, .part p, .part dd, .part b",
        # Voices, as their makers call them.
        ".voice b, .voice .muted",
        "[aria-label='语言']",
    )
)
"""Elements whose texts are not the console's."""

FOUND: Final = r"""([skipped, said]) => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const found = new Map();
  const take = (text, where) => {
    let rest = text ?? "";
    for (const each of said) rest = rest.replaceAll(each, "");
    // Paths, commands, identifiers with dots, hyphens or underscores in them, and keys in brackets.
    const code = [
      /\/[\w./-]+/g, /vixio( [a-z-]+)+/g, /\b\w+([-_.]\w+)+/g, /[({]\w+[)}]/g, /\w+[./]\*/g,
    ];
    for (const each of code) rest = rest.replaceAll(each, "");
    for (const word of rest.match(/[A-Za-z]{3,}/g) ?? []) {
      found.set(word, `${where}: ${text.trim().slice(0, 80)}`);
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (element.closest(skipped) || !element.checkVisibility()) continue;
    take(walker.currentNode.data, element.tagName);
  }
  for (const element of document.querySelectorAll("[aria-label], [placeholder]")) {
    if (element.closest(skipped) || !element.checkVisibility()) continue;
    for (const name of ["aria-label", "placeholder"]) take(element.getAttribute(name), name);
  }
  return [...found];
}"""


SHOWN: Final = """() => [...document.querySelectorAll("main, main option, main .log-lines")]
  .map((each) => each.innerText || each.textContent).join(" ")"""


async def shown_text(page: Page) -> str:
    """Return what the page says, with what can be chosen in its lists."""
    text: str = await page.evaluate(SHOWN)
    return text


async def latin_words(page: Page) -> dict[str, str]:
    """Return the words that are no names, each with where it stands. Unfolds the page."""
    found: list[tuple[str, str]] = await page.evaluate(FOUND, [SKIPPED, [*SAID, *WRITTEN]])
    return {word: where for word, where in found if word not in NAMES}
