"""Mistakes on the command line and around it: options, ports, files that a command reads."""

from __future__ import annotations

from tests.mistakes.around import busy_port
from tests.mistakes.kit import Mistake

COMMANDS = (
    Mistake(
        name="a command that does not exist",
        story="Guesses the name of a command.",
        command="vixio start",
    ),
    Mistake(
        name="an option that does not exist",
        story="Guesses the name of an option.",
        command="vixio serve --http 8003",
    ),
    Mistake(
        name="a port that is no number",
        story="Gives the port by a name.",
        command="vixio serve --port http",
    ),
    Mistake(
        name="a port that is taken",
        story="Starts the server while another program has its port.",
        command="vixio serve",
        settings="server:\n  port: <PORT>\n  http_port: 0\n",
        around=busy_port,
    ),
    Mistake(
        name="an OTA port that is taken",
        story="Starts the server while another program has its HTTP port.",
        command="vixio serve --port 0 --http-port <PORT>",
        around=busy_port,
    ),
    Mistake(
        name="a port that is taken for several processes",
        story="Starts several processes while another program has the port.",
        command="vixio serve --port <PORT> --http-port 0 --workers 2",
        around=busy_port,
    ),
    Mistake(
        name="a port that is taken, checked",
        story="Checks a configuration whose port another program has.",
        command="vixio check",
        settings="server:\n  port: <PORT>\n  http_port: 0\n",
        around=busy_port,
    ),
    Mistake(
        name="an address of another machine",
        story="Listens on the address of another machine.",
        command="vixio serve --host 203.0.113.7 --port 0 --http-port 0",
    ),
    Mistake(
        name="a host name that does not exist",
        story="Listens on a name that no machine has.",
        command="vixio serve --host no-such-host.invalid --port 0 --http-port 0",
    ),
    Mistake(
        name="no processes",
        story="Gives a number of processes that makes no sense.",
        command="vixio serve --workers none",
    ),
    Mistake(
        name="init into a folder with settings",
        story="Runs init again in the same folder.",
        command="vixio init .",
        settings="server:\n  port: 8100\n",
    ),
    Mistake(
        name="init below a file",
        story="Gives a file where a folder belongs.",
        command="vixio init notes.txt",
        files={"notes.txt": "x\n"},
    ),
    Mistake(
        name="say into a folder that is not there",
        story="Gives an output file in a folder that is not there.",
        command="vixio say hello --out sounds/hello.wav",
    ),
    Mistake(
        name="say nothing",
        story="Gives an empty text.",
        command="vixio say '' --out hello.wav",
    ),
    Mistake(
        name="say in a language by its name",
        story="Names the language instead of giving its code.",
        command="vixio say hallo --language 'German language' --out hello.wav",
    ),
    Mistake(
        name="transcribe a file that is not there",
        story="Mistypes the name of an audio file.",
        command="vixio transcribe helo.wav",
    ),
    Mistake(
        name="transcribe a text",
        story="Gives a text file instead of audio.",
        command="vixio transcribe notes.txt",
        files={"notes.txt": "not audio\n"},
    ),
    Mistake(
        name="ask nothing",
        story="Asks nothing.",
        command="vixio ask ''",
    ),
    Mistake(
        name="memory of a device that is not known",
        story="Asks for the memory of a device by a wrong id.",
        command="vixio memory aa:bb:cc:dd:ee:ff",
        status=0,
    ),
    Mistake(
        name="memory in a folder that cannot be written",
        story="Gives a file as the data folder.",
        command="vixio memory",
        settings="data:\n  folder: notes.txt\n",
        files={"notes.txt": "x\n"},
    ),
    Mistake(
        name="memory in a file of another kind",
        story="Has a text file in the place of the database.",
        command="vixio memory",
        settings="data:\n  folder: kept\n",
        files={"kept/vixio.db": "shopping list: milk, bread and a hundred other things\n" * 4},
    ),
    Mistake(
        name="a tool service without a broker",
        story="Starts a tool service and names no broker.",
        command="vixio tool-service tools:Lights",
    ),
    Mistake(
        name="a tool service with a broker by http",
        story="Gives the broker's web page.",
        command="vixio tool-service tools:Lights --url http://127.0.0.1:8222",
    ),
    Mistake(
        name="a tool service that is not there",
        story="Mistypes the module of a tool service.",
        command="vixio tool-service tols:Lights --url nats://127.0.0.1",
    ),
    Mistake(
        name="a tool service without its class",
        story="Gives the file of a tool service.",
        command="vixio tool-service tools.py --url nats://127.0.0.1",
        files={"tools.py": "class Lights:\n    pass\n"},
    ),
    Mistake(
        name="a tool service of another class",
        story="Gives a class without a method invoke.",
        command="vixio tool-service lights:Lights --url nats://127.0.0.1",
        files={"lights.py": "class Lights:\n    pass\n"},
    ),
    Mistake(
        name="the demo with an option that does not exist",
        story="Guesses an option of the demo.",
        command="vixio demo --french",
    ),
)
