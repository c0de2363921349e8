"""Firmware of devices: images, where they lie, and which device is offered which.

image     an ESP-IDF application image, read and checked
folder    the images of a server, by board and version
versions  versions as the firmware compares them
offer     the decision which image a device is offered; pure
attempts  what became of offers; pure
tables    releases and attempts in the database
manager   what people do: add, release, pause, remove, look
service   what a running server does: offer, and note what becomes of downloads
"""
