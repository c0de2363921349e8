"""Tools that are HTTP services: described in the settings, or taken from an OpenAPI document.

``config`` is what is known of one; ``request`` fills its URL, query and body; ``network`` lets it
reach no address that it must not; ``client`` sends and reads within bounds; ``answer`` takes out
what the model is to see; ``openapi`` turns a document into configurations; ``source`` and
``openapi_source`` offer them to the runtime.
"""
