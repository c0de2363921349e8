"""The device's start: configuration, activation, firmware upgrade.

Follows ActivationTask, CheckNewVersion, ShowActivationCode, InitializeProtocol and UpgradeFirmware
in main/application.cc. Texts are those of main/assets/locales/en-US.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from firmware_test_client.config import DeviceConfig
from firmware_test_client.errors import OtaError
from firmware_test_client.ota import Activation, CheckFailed, Ota, OtaAnswer, running_app
from firmware_test_client.protocol import Carrier
from firmware_test_client.records import Records
from firmware_test_client.screen import Screen
from firmware_test_client.state import DeviceState, StateMachine
from firmware_test_client.upgrade import Upgrade, UpgradeError, fetch_firmware

_POLLS: Final = {"firmware": 10, "py-xiaozhi": 60}
_POLL_AFTER_202: Final = {"firmware": 3.0, "py-xiaozhi": 5.0}  # seconds
_POLL_AFTER_REFUSAL: Final = {"firmware": 10.0, "py-xiaozhi": 5.0}  # seconds


class Boot:
    """Starts one device, as often as firmware is installed.

    Args:
        start_protocol: makes the protocol of a carrier, and connects it if it stays connected.
    """

    def __init__(
        self,
        config: DeviceConfig,
        records: Records,
        machine: StateMachine,
        screen: Screen,
        start_protocol: Callable[[Carrier], Awaitable[None]],
    ) -> None:
        self._config = config
        self._records = records
        self._machine = machine
        self._screen = screen
        self._start_protocol = start_protocol

    async def run(self) -> OtaAnswer | None:
        """Start, and start again after each upgrade. None without an answer to go by.

        Raises:
            OtaError: no usable answer, a boot that aborts, no server to connect to, an activation
                or restarts without end.
        """
        config = self._config
        for _ in range(config.max_boots):
            config.flash.power_on(config.device_id, rollback=config.rollback)
            self._machine.power_on()
            self._machine.to(DeviceState.ACTIVATING)
            self._records.boots.append(running_app(config).version)
            self._records.changed()
            ota = Ota(config)
            if config.ota_url is None or await self._check_new_version(ota):
                await self._start_protocol(self._choose_protocol(ota))
                self._machine.to(DeviceState.IDLE)
                return ota.answer
            await self._pause(1)  # Application::Reboot
        raise OtaError(
            f"the device has installed a firmware {config.max_boots} times in a row: "
            "the server goes on offering one that is newer, or forced"
        )

    async def _check_new_version(self, ota: Ota) -> bool:
        """Application::CheckNewVersion; False if the device restarts with a new firmware."""
        failures, rounds = 0, 0
        delay = self._config.ota_retry
        while True:
            try:
                answer = await ota.check_version()
            except CheckFailed as error:
                failures += 1
                if failures >= self._config.ota_tries:
                    if ota.answer is None and (self._is_py_xiaozhi or not self._stored_endpoint):
                        raise
                    return True
                await self._show_failure(error, delay)
                delay *= 2
                continue
            failures, delay = 0, self._config.ota_retry
            if answer.upgrade:
                link, version = answer.firmware_url or "", answer.firmware_version or ""
                if await self.upgrade(link, version):
                    return False
            self._config.flash.confirm()
            if answer.activation is None or self._ignores_activation:
                return True
            if rounds == self._config.activation_rounds:
                raise OtaError(
                    f"activation not finished, code {answer.activation.code}, "
                    f"status codes were {answer.activation_tries}"
                )
            rounds += 1
            await self._activate(ota, answer.activation)

    @property
    def _ignores_activation(self) -> bool:
        return self._is_py_xiaozhi and self._config.serial_number is None

    @property
    def _is_py_xiaozhi(self) -> bool:
        return self._config.client == "py-xiaozhi"

    @property
    def _stored_endpoint(self) -> str:
        return self._config.flash.nvs.string("mqtt", "endpoint")

    async def _show_failure(self, error: CheckFailed, delay: float) -> None:
        """The alert, cut as the firmware's buffers cut it; the button ends the wait."""
        cause = f"code={error.code}, url={self._config.ota_url}"[:127]
        text = f"Check for new version failed, will retry in {delay:g} seconds: {cause}"[:255]
        self._screen.notice("Error", text, "cloud_off", "exclamation")
        while delay > 0 and self._machine.state is not DeviceState.IDLE:
            await asyncio.sleep(min(1.0, delay))
            delay -= 1.0

    async def _activate(self, ota: Ota, activation: Activation) -> None:
        """Show the code, and poll until it is claimed or the tries are used up."""
        config = self._config
        if activation.code is not None:
            self._screen.notice("Activation", activation.message, "link", "activation")
            self._records.sounds += [digit for digit in activation.code if digit in "0123456789"]
        self._records.activations.append(activation)
        self._records.changed()
        waiting, refused = config.activation_retry, config.activation_error_retry
        after_202 = _POLL_AFTER_202[config.client] if waiting is None else waiting
        after_refusal = _POLL_AFTER_REFUSAL[config.client] if refused is None else refused
        for _ in range(_POLLS[config.client]):
            status = await ota.activate(activation)
            if status == 200:
                return
            await asyncio.sleep(after_202 if status == 202 else after_refusal)
            if self._machine.state is DeviceState.IDLE:
                return

    def _choose_protocol(self, ota: Ota) -> Carrier:
        """Application::InitializeProtocol: the carrier, whose settings are those that are stored.

        MQTT is preferred, and used without an answer or with one that names no server.

        Raises:
            OtaError: no server is known.
        """
        config, nvs = self._config, self._config.flash.nvs
        if config.ota_url is None:
            return "websocket" if config.mqtt is None else "mqtt"
        answered = f"{config.ota_url} answered"
        if self._is_py_xiaozhi or (ota.has_websocket and not ota.has_mqtt):
            if not nvs.string("websocket", "url"):
                raise OtaError(f"{answered} without a websocket url, and none is stored")
            return "websocket"
        if not self._stored_endpoint:
            if ota.has_mqtt:
                text = f"{answered} with an mqtt section without an endpoint, and none is stored"
                raise OtaError(text)
            raise OtaError(
                f"{answered} without a websocket section: the firmware goes on without a server"
            )
        return "mqtt"

    async def upgrade(self, url: str, version: str = "") -> bool:
        """Application::UpgradeFirmware up to the restart: whether a new firmware is installed."""
        self._screen.notice("OTA Upgrade", "System is upgrading...", "download", "upgrade")
        await self._pause(3)
        self._machine.to(DeviceState.UPGRADING)
        self._screen.write(f"New version {version or '(Manual upgrade)'}")
        await self._pause(1)
        upgrade = Upgrade(url, version)
        self._records.upgrades.append(upgrade)
        clock, config = asyncio.get_running_loop().time, self._config
        shown, shown_bytes = clock(), 0

        def changed() -> None:
            """The progress once a second, and at the end."""
            nonlocal shown, shown_bytes
            if clock() - shown >= 1 or upgrade.received == upgrade.size:
                speed = (upgrade.received - shown_bytes) // 1024
                self._screen.write(f"{upgrade.progress}% {speed}KB/s")
                shown, shown_bytes = clock(), upgrade.received
            self._records.changed()

        try:
            app = await fetch_firmware(config, upgrade, changed)
        except UpgradeError as error:
            upgrade.error = str(error)
            self._screen.notice("Error", "Upgrade failed", "cancel", "exclamation")
            self._records.changed()
            await self._pause(3)
            return False
        config.flash.install(app)
        upgrade.app = app
        self._screen.write("Upgrade successful, rebooting...")
        self._records.changed()
        await self._pause(1)
        return True

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._config.pause_scale)
