"""The stations that Vixio brings: one step of the way from microphone to loudspeaker each."""
