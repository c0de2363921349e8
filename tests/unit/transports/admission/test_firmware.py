from __future__ import annotations

from vixio.transports.admission.firmware import Firmware, StatedFirmware


def test_the_last_statement_of_a_device_counts() -> None:
    stated = StatedFirmware()
    assert stated.get("aa") == Firmware()
    stated.note("aa", Firmware("esp-box-3", "1.0"))
    stated.note("aa", Firmware("esp-box-3", "1.1"))
    assert stated.get("aa") == Firmware("esp-box-3", "1.1")


def test_invented_devices_do_not_fill_the_memory() -> None:
    stated = StatedFirmware(max_devices=10)
    for number in range(100):
        stated.note(f"device {number}", Firmware("board", "1.0"))
    assert stated.get("device 89") == Firmware()
    assert stated.get("device 90") == stated.get("device 99") == Firmware("board", "1.0")
