"""What the set-up says, in the language that is chosen first: English or Chinese.

These are the words of one command on a terminal; what the assistant itself says stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vixio.core.language_tags import primary

ENGLISH: Final[Mapping[str, str]] = {
    "hello": "This sets Vixio up: five questions, then everything is tried. Enter takes the answer "
    "in [brackets], `<` goes back to the question before. Ctrl-C stops it at any time; nothing is "
    "written before the end.",
    "language": "Which language do you speak with it?  你说哪种语言？",
    "language.other": "another one",
    "language.tag": "Its tag, such as de, fr, ja or pt-BR",
    "language.wrong": "a tag such as de or pt-BR is expected, not {tag!r}",
    "ears": "What shall it understand?",
    "ears.moonshine": "free speech: Moonshine, on this machine; 44 MB from a package, 230 MB of "
    "memory, no account",
    "ears.sense-voice": "free speech: SenseVoice, on this machine; fetches 230 MB from a hub "
    "(ModelScope, Hugging Face), no account",
    "ears.whisper": "free speech: Whisper base, on this machine; 450 MB from packages, no account; "
    "its Chinese is mediocre",
    "ears.service": "free speech: the recogniser of the service that you choose next (OpenAI, "
    "SiliconFlow); sends what is said there, needs its account",
    "ears.commands": "commands only: PocketSphinx; nothing to install, 30 MB of memory",
    "model": "What thinks up the answers?",
    "model.phrasebook": "the phrase book, on this machine; time, volume, the device's own tools, "
    "no account and no conversation",
    "model.phrasebook.mute": "; it has no phrases in your language, and can only apologise",
    "model.ollama": "a model on this machine, by Ollama: {state}",
    "model.ollama.there": "it runs here, with {count} models",
    "model.ollama.absent": "not found at {url}; ollama.com has it",
    "model.service": "{title}: needs an account and its key",
    "model.url": "another server with OpenAI's API, by its address",
    "model.address": "Its address, usually ending in /v1",
    "model.no_address": "an address begins with http:// or https://",
    "model.name": "Which model?",
    "model.unlisted": "{title} does not list a model {model!r}; it is taken all the same",
    "key": "The key for {title} (not shown)",
    "key.kept": "The key for {title} (not shown; Enter: the one of {variable})",
    "key.works": "{title} accepts the key.",
    "key.works.models": "{title} answers, and lists {count} models.",
    "key.unknown": "{title} answers, but does not say whether the key is right; a turn will.",
    "key.refused": "{title} refuses the key. Copy it once more, whole.",
    "key.untried": "It could not be tried: {error}",
    "anyway": "Take it all the same?",
    "voice": "Which voice? A number, or `h` and a number to hear it, such as h1",
    "voice.joe": "Joe: natural, American, on this machine; 61 MB from a package, no account",
    "voice.kokoro": "Kokoro: the most natural, on this machine; 120 MB from packages, no account",
    "voice.edge": "Edge: natural, by Microsoft's service; sends the answers there, no account",
    "voice.service": "the voice of {title}",
    "voice.espeak": "eSpeak: robotic, on this machine; nothing to install",
    "voice.first": "It must be installed first, which takes a minute. Do it now?",
    "voice.played": "That was {name}.",
    "voice.no_player": "There is no program here that plays sound; listen to {path}",
    "tools": "Which tools besides the device's own, time and memory?",
    "tools.none": "no others",
    "tools.done": "no further ones",
    "tools.home": "Home Assistant: lamps, heating, scenes; needs its address and a token",
    "tools.mcp": "an MCP server: a command to start, or its address",
    "tools.url": "The address of Home Assistant (nothing: leave it out)",
    "tools.token": "A long-lived access token: your profile → Security (not shown)",
    "tools.token.kept": "A long-lived access token: your profile → Security (not shown; Enter: the "
    "one of {variable})",
    "tools.command": "Its command, such as `npx -y @scope/server`, or its address (nothing: "
    "leave it out)",
    "tools.count": "{name} has {count} tools.",
    "tools.failed": "{name} does not work: {error}",
    "tools.home.off": "In Home Assistant: Settings → Devices & services → Add integration → Model "
    "Context Protocol Server.",
    "tools.need_model": "The phrase book cannot use these tools; a language model can.",
    "keep": "as it is: {name}",
    "choose": "Choose",
    "choose.wrong": "a number from 1 to {count} is expected",
    "installing": "Installing what is needed: {names}",
    "model.instead": "Take Whisper from packages instead? Its Chinese is mediocre. (No: nothing is "
    "written; `vixio models get {model}` fetches it, by --mirror or --from FOLDER)",
    "pace.part": "; about {seconds} s of waiting on this machine",
    "pace": "On this machine an answer will begin about {seconds} s after your last word, with the "
    "time that a service takes on top.",
    "pace.slow": "That is slow: it takes over 2 s with {slow}. It would be {seconds} s with "
    "{fast}\nTake that instead?",
    "trying": "Trying every part …",
    "failed": "Not everything works yet; the lines above say what to do.",
    "failed.what": "What now?",
    "failed.change": "change an answer",
    "failed.write": "write the settings all the same",
    "failed.stop": "write nothing and stop",
    "changes": "{path} changes:",
    "overwrite": "Write it? The present file is kept as a backup.",
    "kept": "Nothing was written.",
    "same": "{path} stays as it is.",
    "wrote": "wrote {path}",
    "backup": "the former one is {path}",
    "secrets": "wrote {names} to {path}, which only you can read",
    "stopped": "stopped; nothing was written",
    "stopped.later": "stopped; the settings are written",
    "console": "The console, to talk and to look after it:  {url}",
    "command": "Make `vixio` a command that works in every folder? It is a link, {link}.",
    "command.later": "It works from your next login on.",
    "again": "Keep it running with:  {command}",
    "again.service": "With every start of this machine:  {command}",
    "settings": "Settings of Vixio, written by `vixio setup`; run it again to change them.\n"
    "Every other setting: docs/configuration.md, or `vixio init DIR`. Keys stand in .env, "
    "beside this file.",
    "url": "Enter this as the OTA address on the device (Wi-Fi set-up page → Advanced):",
    "url.local": "Only this machine can reach that address; it has no network, or server.host in "
    "the settings says so.",
    "waiting": "Waiting for your device …  (Ctrl-C ends it)",
    "here": "Your device is here: {name}. Say something!",
    "heard": "You: {text}",
    "not_understood": "It heard you, but understood no words. Once more?",
    "answered": "Vixio: {text}",
    "turn_failed": "That did not work: {detail}",
    "done": "It works. It goes on until Ctrl-C.",
}

CHINESE: Final[Mapping[str, str]] = {
    "hello": "现在设置 Vixio：五个问题，然后逐项测试。直接回车采用 [方括号] 里的答案，"
    "输入 `<` 回到上一题。"
    "随时可按 Ctrl-C 退出，最后一步才写入文件。",
    "language": "Which language do you speak with it?  你说哪种语言？",
    "language.other": "其他语言",
    "language.tag": "语言代码，例如 de、fr、ja 或 pt-BR",
    "language.wrong": "应为 de 或 pt-BR 这样的语言代码，而不是 {tag!r}",
    "ears": "要听懂什么？",
    "ears.moonshine": "自由说话：Moonshine，在本机运行；安装包 44 MB，内存 230 MB，不需要账号",
    "ears.sense-voice": "自由说话：SenseVoice，在本机运行；下载 230 MB（ModelScope 或 "
    "Hugging Face），不需要账号",
    "ears.whisper": "自由说话：Whisper base，在本机运行；安装包 450 MB，不需要账号；中文效果一般",
    "ears.service": "自由说话：用下一题所选服务的语音识别（OpenAI、硅基流动）；语音会发送到该服务，"
    "需要账号",
    "ears.commands": "只听固定命令：PocketSphinx；无需安装，内存 30 MB",
    "model": "由什么来回答？",
    "model.phrasebook": "内置短语库，在本机运行：时间、音量、设备自带的工具；不需要账号，不能闲聊",
    "model.phrasebook.mute": "；没有你这种语言的短语，只会道歉",
    "model.ollama": "本机的 Ollama 模型：{state}",
    "model.ollama.there": "正在运行，有 {count} 个模型",
    "model.ollama.absent": "在 {url} 没有找到；见 ollama.com",
    "model.service": "{title}：需要账号和密钥",
    "model.url": "其他兼容 OpenAI 接口的服务，填写地址",
    "model.address": "服务地址，通常以 /v1 结尾",
    "model.no_address": "地址应以 http:// 或 https:// 开头",
    "model.name": "用哪个模型？",
    "model.unlisted": "{title} 的列表里没有模型 {model!r}，仍按此设置",
    "key": "{title} 的密钥（输入时不显示）",
    "key.kept": "{title} 的密钥（输入时不显示；直接回车沿用 {variable} 的值）",
    "key.works": "{title} 接受了密钥。",
    "key.works.models": "{title} 可以连接，有 {count} 个模型。",
    "key.unknown": "{title} 可以连接，但没有说明密钥是否有效；第一次对话时会知道。",
    "key.refused": "{title} 拒绝了密钥，请重新完整复制一次。",
    "key.untried": "没能测试：{error}",
    "anyway": "仍然使用吗？",
    "voice": "用哪个声音？输入编号；h 加编号可试听，例如 h1",
    "voice.joe": "Joe：自然的美式英语，在本机运行；安装包 61 MB，不需要账号",
    "voice.kokoro": "Kokoro：最自然，在本机运行；安装包 120 MB，不需要账号",
    "voice.edge": "Edge：自然，用微软的服务；回答文字会发送到该服务，不需要账号",
    "voice.service": "{title} 的声音",
    "voice.espeak": "eSpeak：机械音，在本机运行；无需安装",
    "voice.first": "需要先安装，大约一分钟。现在安装吗？",
    "voice.played": "刚才是 {name}。",
    "voice.no_player": "本机没有能播放声音的程序，请自行播放 {path}",
    "tools": "除了设备自带的工具、时间和记忆，还要哪些工具？",
    "tools.none": "不需要其他工具",
    "tools.done": "不再添加",
    "tools.home": "Home Assistant：灯、暖气、场景；需要地址和令牌",
    "tools.mcp": "MCP 服务器：启动命令或地址",
    "tools.url": "Home Assistant 的地址（留空则跳过）",
    "tools.token": "长期访问令牌：个人资料 → 安全（输入时不显示）",
    "tools.token.kept": "长期访问令牌：个人资料 → 安全（输入时不显示；直接回车沿用 {variable}）",
    "tools.command": "启动命令，例如 `npx -y @scope/server`，或地址（留空则跳过）",
    "tools.count": "{name} 有 {count} 个工具。",
    "tools.failed": "{name} 不能使用：{error}",
    "tools.home.off": "请在 Home Assistant 里：设置 → 设备与服务 → 添加集成 → Model Context "
    "Protocol Server。",
    "tools.need_model": "短语库不能使用这些工具，需要语言模型。",
    "keep": "保持现状：{name}",
    "choose": "请选择",
    "choose.wrong": "请输入 1 到 {count} 的数字",
    "installing": "正在安装所需的组件：{names}",
    "model.instead": "改用安装包自带的 Whisper 吗？它的中文效果一般。（选否则不写入任何内容；"
    "可用 `vixio models get {model}` 加 --mirror 或 --from FOLDER 获取）",
    "pace.part": "；在本机约需等待 {seconds} 秒",
    "pace": "在本机上，你说完后约 {seconds} 秒开始回答；使用的服务所需时间另计。",
    "pace.slow": "这样太慢：用 {slow} 要等 2 秒以上。换成下面这个约为 {seconds} 秒："
    "{fast}\n要换吗？",
    "trying": "正在逐项测试……",
    "failed": "还有问题没有解决，上面的提示说明了该怎么做。",
    "failed.what": "接下来做什么？",
    "failed.change": "修改答案",
    "failed.write": "仍然写入设置",
    "failed.stop": "不写入，退出",
    "changes": "{path} 的改动：",
    "overwrite": "写入吗？现有文件会留作备份。",
    "kept": "没有写入任何内容。",
    "same": "{path} 没有变化。",
    "wrote": "已写入 {path}",
    "backup": "原来的文件是 {path}",
    "secrets": "已把 {names} 写入 {path}，只有你能读取",
    "stopped": "已停止，没有写入任何内容",
    "stopped.later": "已停止，设置已经写入",
    "console": "控制台，可以对话和管理：  {url}",
    "command": "要让 `vixio` 命令在任何文件夹里都能用吗？这会建立一个链接：{link}",
    "command.later": "下次登录后生效。",
    "again": "以后用这条命令运行：  {command}",
    "again.service": "让它随本机启动：  {command}",
    "settings": "Vixio 的设置，由 `vixio setup` 写入；再次运行它可以修改。\n"
    "其他设置见 docs/configuration.md 或 `vixio init DIR`。密钥在同一目录的 .env 里。",
    "url": "请在设备上把它填为 OTA 地址（Wi-Fi 配网页面 → 高级选项）：",
    "url.local": "这个地址只有本机能访问：本机没有网络，或设置里的 server.host 如此规定。",
    "waiting": "正在等待你的设备……（Ctrl-C 结束）",
    "here": "你的设备已连接：{name}。说点什么吧！",
    "heard": "你：{text}",
    "not_understood": "听到了声音，但没有听懂。再说一次？",
    "answered": "Vixio：{text}",
    "turn_failed": "没有成功：{detail}",
    "done": "一切正常。服务会一直运行，按 Ctrl-C 结束。",
}

LANGUAGES: Final[Mapping[str, Mapping[str, str]]] = {"en": ENGLISH, "zh": CHINESE}


class Words:
    """The words for who speaks ``language`` (BCP 47); English where there are none."""

    def __init__(self, language: str) -> None:
        self._texts = LANGUAGES.get(primary(language), ENGLISH)

    def __call__(self, key: str, **values: object) -> str:
        """Return the text of ``key`` with its ``{names}`` filled in."""
        return self._texts[key].format(**values)
