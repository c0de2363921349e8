"""Speech synthesis by the voices of Microsoft Edge, through the package ``edge-tts``.

``settings`` has the options and chooses the voice, ``speech`` is one text on its way through that
package, ``errors`` says what its errors mean, ``provider`` is the interface.
"""
