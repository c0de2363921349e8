"""The metrics of a server in the form of Prometheus.

``catalogue`` lists them. ``turns`` makes them of events, ``counts`` of the counters and gauges that
the server has anyway, which are read at a scrape. ``exposition`` puts the processes of one server
together. Only this package imports prometheus_client, and only once the ports are open.
"""
