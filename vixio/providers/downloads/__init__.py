"""Speech models on disk: which there are, where they come from, and what is installed.

``catalogue`` reads the entries of ``catalogue.yaml``. ``hubs`` knows the hubs' addresses and reads
their metadata, ``web`` sends requests, ``transfer`` downloads one file, ``unpack`` reads archives,
and ``get`` installs a model into a ``store``. Nothing here is imported by a running server, nor by
importing this package.

    hubs = Hubs.from_environment(os.environ)
    store = ModelStore(models_folder())
    async with Web() as web:
        model = find(load_catalogue(), "sense-voice")
        await get(model, store, web, hubs, report=lambda progress: …)
"""
