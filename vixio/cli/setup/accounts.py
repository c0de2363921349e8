"""The question about an account at a vendor of speech or of agents, which is tried at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vixio.cli.setup.answers import Answers, Given
from vixio.cli.setup.choices import Choice
from vixio.cli.setup.settings_file import Present
from vixio.cli.setup.terminal import Terminal
from vixio.cli.setup.trial import SetupTrials
from vixio.cli.setup.vendors import Asked, Vendor
from vixio.core.errors import ConfigError, ProviderError
from vixio.core.messages import reason

_MENDED: Final = frozenset({"no_key", "no_model", "quota", "request"})
"""Reasons of a refusal that another answer, or the vendor's console, mends."""


class AccountQuestion:
    """Asks for what a vendor's account needs, until the vendor takes it."""

    def __init__(
        self,
        given: Given,
        present: Present,
        terminal: Terminal,
        trials: SetupTrials,
        environment: Mapping[str, str],
        *,
        asking: bool,
    ) -> None:
        self._given = given
        self._present = present
        self._terminal = terminal
        self._trials = trials
        self._environment = environment
        self._asking = asking

    def ask(self, choice: Choice, vendor: Vendor, answers: Answers) -> dict[str, Any]:
        """Return the section, and add its variables to the answers. Raises ConfigError.

        Options that the present section of the same provider has besides stay, such as an address.
        """
        title, present = self._terminal.words(f"vendor.{choice.name}"), self._kept(choice, vendor)
        if self._asking and vendor.page:
            self._terminal.say(self._terminal.words("account.where", page=vendor.page))
        while True:
            values = self._values(choice, vendor, title, answers, present)
            section = {"name": choice.name, **present}
            env = {each.variable: text for each, text in values.items() if each.variable}
            for each, text in values.items():
                section[each.option] = f"${{{each.variable}}}" if each.variable else text
            if self._taken(choice, vendor, title, section, {**answers.env, **env}):
                answers.env.update(env)
                return section

    def _kept(self, choice: Choice, vendor: Vendor) -> dict[str, Any]:
        """Return the further options of the present section of the same provider."""
        found = self._present.section(choice.kind)
        if not isinstance(found, dict) or found.get("name") != choice.name:
            return {}
        keys = {each.option for each in sum(vendor.ways, ()) if each.variable}
        return {name: value for name, value in found.items() if name not in keys}

    def _values(
        self, choice: Choice, vendor: Vendor, title: str, answers: Answers, present: dict[str, Any]
    ) -> dict[Asked, str]:
        """Return the answers of one way to show an account; without one to the first, the next."""
        known = {**self._environment, **answers.env}
        if choice.kind == "agent" and self._given.key:
            known |= {each.variable: self._given.key for each in vendor.secrets}
        while True:
            for number, way in enumerate(vendor.ways):
                more = number + 1 < len(vendor.ways)
                values: dict[Asked, str] = {}
                for each in way:
                    default = str(present.get(each.option) or each.default)
                    if each.variable:
                        default = known.get(each.variable, "")
                    values[each] = self._value(each, title, default, more=more)
                    if not values[each]:
                        break
                else:
                    return values
            if not self._asking:
                names = ", ".join(each.variable or each.option for each in vendor.ways[0])
                raise ConfigError(
                    f"{title}: {names} must be set, in the environment or in .env; {vendor.page}"
                )

    def _value(self, asked: Asked, title: str, default: str, *, more: bool) -> str:
        if not self._asking:
            return default
        words, way = self._terminal.words, "account"
        if asked.hidden:
            way = "account.kept" if default else "account.hidden"
        question = words(way, title=title, what=asked.what, variable=asked.variable)
        if more and not default:
            question += words("account.else")
        return self._terminal.ask(question, default, hidden=asked.hidden)

    def _taken(
        self,
        choice: Choice,
        vendor: Vendor,
        title: str,
        section: dict[str, Any],
        env: dict[str, str],
    ) -> bool:
        """Try an account; return whether to go on with it. Raises ConfigError if none is asked."""
        words, terminal = self._terminal.words, self._terminal
        try:
            works = self._trials.verify(choice.kind, section, {**self._environment, **env})
        except (ConfigError, ProviderError) as error:
            text = " ".join(str(error).split())
            why = reason(getattr(error, "reason", ""), words.language) or words("account.wrong")
            page = "" if vendor.page in text else f" {vendor.page}"
            line = words("account.refused", title=title, why=why, error=text) + page
            if not self._asking:
                raise ConfigError(line) from error
            terminal.say(line)
            if "verify_tls" in text and "verify_tls" not in section:
                if terminal.confirm(words("account.certificate"), default=True):
                    section["verify_tls"] = False
                    return self._taken(choice, vendor, title, section, env)
                return False
            if isinstance(error, ConfigError) or error.reason in _MENDED:
                return False
            return terminal.confirm(words("anyway"), default=False)
        if works is None:
            terminal.say(words("account.untried", title=title))
        else:
            told = "key.works" if works else "key.unknown"
            terminal.say(words(told if vendor.secrets else "account.reached", title=title))
        return True
