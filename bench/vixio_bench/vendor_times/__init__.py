"""``vixio bench vendors``: what our clients of the services in China add to their time.

====================  ==================================================================
``stand_ins.py``      the stand-ins of ``vixio_bench/vendors``, in a process of their own
``providers.py``      the providers, as the settings have them
``uses.py``           one use of a provider, and when its caller saw what
``bare.py``           the same without a client of ours
``overhead.py``       each provider beside the clock of its stand-in
``first_sound.py``    conversations with simulated devices
``report.py``         the command
====================  ==================================================================
"""
