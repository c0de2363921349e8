"""Server processes on any number of machines that are one server, joined by NATS.

Each is a node with one connection (``link``). The bucket ``vixio_devices`` orders the claims on a
device (``claims``), so that each holder knows the one before it and has it end its session
(``leases``). What nodes have is repeated to the others (``state``, ``peers``): presence and counts
are read without a question. Commands go to the node that the bucket names.
"""
