"""Tools that are HTTP services, described in the settings or by an OpenAPI document.

``config`` describes one tool; ``request`` fills its URL, query and body; ``network`` decides which
addresses it may reach; ``client`` sends and reads within bounds; ``answer`` selects what the model
reads; ``openapi`` converts a document to configurations; ``source`` and ``openapi_source`` are the
tool sources; ``settings`` and ``factory`` make them from a settings file.
"""
