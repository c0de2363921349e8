"""Mistakes in keys and values: names, types, units, nesting."""

from __future__ import annotations

from tests.mistakes.kit import ANY_PORTS, Mistake

VALUES = (
    Mistake(
        name="a key with a typing error",
        story="Misspells a key.",
        settings="server:\n  prot: 8100\n",
    ),
    Mistake(
        name="a key in the wrong section",
        story="Sets the language of the assistant under the recogniser of another product.",
        settings="server:\n  language: de\n",
    ),
    Mistake(
        name="a key at the top",
        story="Sets a port at the top of the file.",
        settings="port: 8100\n",
    ),
    Mistake(
        name="a section within another",
        story="Indents a whole section below the one before it.",
        settings="server:\n  port: 8100\n  assistant:\n    language: de\n",
    ),
    Mistake(
        name="a section with a typing error",
        story="Misspells a section.",
        settings="assitant:\n  language: de\n",
    ),
    Mistake(
        name="a list for a section",
        story="Writes the keys of a section as a list.",
        settings="server:\n  - port: 8100\n  - http_port: 8101\n",
    ),
    Mistake(
        name="a word for a section",
        story="Gives a provider by its name alone.",
        settings="tts: espeak\n",
    ),
    Mistake(
        name="a text for a list",
        story="Writes a single word where a list belongs.",
        settings="assistant:\n  wake_words: computer\n",
    ),
    Mistake(
        name="a word for a number",
        story="Writes a number as a word.",
        settings="server:\n  port: eighty\n",
    ),
    Mistake(
        name="a unit in seconds",
        story="Writes a time with its unit.",
        settings="timeouts:\n  agent_first: 5s\n",
    ),
    Mistake(
        name="a unit in milliseconds",
        story="Writes a time with its unit, where a whole number of ms belongs.",
        settings="listening:\n  end_silence_ms: 0.5s\n",
    ),
    Mistake(
        name="seconds for milliseconds",
        story="Writes seconds where milliseconds belong.",
        settings="listening:\n  end_silence_ms: 0.5\n",
    ),
    Mistake(
        name="a port that is too large",
        story="Mistypes a port.",
        settings="server:\n  port: 80000\n",
    ),
    Mistake(
        name="an address with its port as the host",
        story="Writes host and port in one.",
        settings="server:\n  public_host: 192.168.1.20:8003\n",
    ),
    Mistake(
        name="one port for both",
        story="Uses one port for WebSocket and OTA.",
        settings="server:\n  port: 8003\n",
    ),
    Mistake(
        name="a comma in a number",
        story="Writes a decimal comma.",
        settings="listening:\n  threshold: 0,6\n",
    ),
    Mistake(
        name="an option switched by a word",
        story="Switches an option on by a word that YAML does not know.",
        settings="logging:\n  json: enabled\n",
    ),
    Mistake(
        name="no as a language",
        story="Sets Norwegian by its code, which is a boolean in YAML.",
        settings=ANY_PORTS + "assistant:\n  language: no\n",
    ),
    Mistake(
        name="a language by its name",
        story="Sets the language by its name.",
        settings="assistant:\n  language: german language\n",
    ),
    Mistake(
        name="a time zone by its abbreviation",
        story="Sets the time zone by an offset.",
        settings="assistant:\n  time_zone: GMT+8\n",
    ),
    Mistake(
        name="a time as on a clock",
        story="Writes a time with a colon, which YAML reads as a number of base 60.",
        settings="timeouts:\n  turn: 1:30\n",
    ),
    Mistake(
        name="a log level that does not exist",
        story="Sets a log level of another program.",
        settings="logging:\n  level: verbose\n",
    ),
    Mistake(
        name="a sample rate that Opus does not have",
        story="Sets the sample rate of CDs.",
        settings="output:\n  sample_rate: 44100\n",
    ),
    Mistake(
        name="a secret that is too short",
        story="Turns tokens on with a short secret.",
        settings="server:\n  auth:\n    enabled: true\n    secret: letmein\n",
    ),
    Mistake(
        name="activation without a registry",
        story="Has devices claimed, and keeps no registry.",
        settings="server:\n  access: activation\ndata:\n  database: none\n",
    ),
    Mistake(
        name="MQTT at an IPv6 address",
        story="Gives devices an IPv6 address for MQTT, which they cannot use.",
        settings='mqtt:\n  address: "fd00::20"\n',
    ),
    Mistake(
        name="MQTT at a URL",
        story="Writes a URL where a host belongs.",
        settings="mqtt:\n  address: mqtt://192.168.1.20:1883\n",
    ),
    Mistake(
        name="MQTT in several processes",
        story="Starts several processes, with MQTT on any free port.",
        settings="server:\n  workers: 4\nmqtt:\n  port: 0\n",
    ),
    Mistake(
        name="MQTT at the port of OTA",
        story="Uses one port for MQTT and OTA.",
        settings="mqtt:\n  port: 8003\n",
    ),
    Mistake(
        name="MQTT at the port of TLS",
        story="Listens where devices speak TLS.",
        settings="mqtt:\n  port: 8883\n",
    ),
    Mistake(
        name="MQTT switched on by a word",
        story="Switches MQTT on as other programs do.",
        settings="mqtt: true\n",
    ),
    Mistake(
        name="a registry in a database that is none of ours",
        story="Wants the registry in MySQL.",
        settings="data:\n  database: mysql://vixio:secret@db/vixio\n",
    ),
    Mistake(
        name="a variable that is not set",
        story="Names a variable that is in a .env file, but not in the one beside the settings.",
        settings=None,
        command="vixio check --config home/vixio.yaml",
        files={
            "home/vixio.yaml": "agent:\n  name: openai\n  api_key: ${OPENAI_API_KEY}\n",
            ".env": "OPENAI_API_KEY=sk-1234\n",
        },
    ),
    Mistake(
        name="spaces in the .env file",
        story="Writes spaces around the sign in the .env file.",
        settings="agent:\n  name: openai\n  api_key: ${OPENAI_API_KEY}\n",
        files={".env": "# my keys\nOPENAI_API_KEY=sk-1234 # of work, sk-5678\nMORE = sk-9\n"},
    ),
    Mistake(
        name="a variable that is empty",
        story="Sets a variable to nothing.",
        settings="agent:\n  name: openai\n  api_key: ${MY_KEY}\n",
        environment={"MY_KEY": ""},
    ),
    Mistake(
        name="a variable without its brace",
        story="Forgets the closing brace of a variable.",
        settings="agent:\n  name: openai\n  api_key: ${MY_KEY\n",
        environment={"MY_KEY": "k"},
    ),
    Mistake(
        name="a variable for a number",
        story="Sets a port by a variable that is no number.",
        settings="server:\n  port: ${PORT_OF_VOICE}\n",
        environment={"PORT_OF_VOICE": "http"},
    ),
    Mistake(
        name="a placeholder with a typing error",
        story="Misspells a placeholder of the instructions.",
        settings="assistant:\n  instructions: You stand in {plcae}.\n",
    ),
    Mistake(
        name="a device twice",
        story="Names a device in two spellings.",
        settings=(
            "devices:\n  AA:BB:CC:DD:EE:FF:\n    name: kitchen\n"
            "  aa-bb-cc-dd-ee-ff:\n    name: bath\n"
        ),
    ),
    Mistake(
        name="a key of an earlier version",
        story="Keeps a key that has moved.",
        settings="assistant:\n  devices:\n    aa:bb:cc:dd:ee:ff: {name: kitchen}\n",
    ),
    Mistake(
        name="a store of an earlier version",
        story="Kept the memory in Redis before an upgrade.",
        settings="memory:\n  store: redis\n  url: redis://localhost\n",
    ),
    Mistake(
        name="several at once",
        story="Makes three mistakes in one file.",
        settings="server:\n  prot: 8100\nassistant:\n  langauge: de\nloging:\n  level: INFO\n",
    ),
)
