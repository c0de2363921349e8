"""The carrier of the xiaozhi wire over MQTT and UDP."""
