# The same steps as `make setup` on a fresh Debian machine, by the same scripts and lock.

FROM python:3.13-slim AS build
WORKDIR /src
# The packages first: they change less often than the code, and their layer is kept.
COPY scripts/ scripts/
COPY requirements/ requirements/
RUN scripts/make_venv.sh /opt/vixio
RUN scripts/install_lock.sh /opt/vixio requirements/base.lock
COPY pyproject.toml README.md LICENSE ./
COPY vixio/ vixio/
COPY docs/ docs/
RUN scripts/install_project.sh /opt/vixio copy
# What optional parts need: make docker EXTRAS="edge mp3".
ARG EXTRAS=""
ARG TORCH_INDEX=""
RUN test -z "$EXTRAS" || scripts/install_extra.sh /opt/vixio $EXTRAS

FROM python:3.13-slim
COPY scripts/ /usr/local/lib/vixio/scripts/
RUN /usr/local/lib/vixio/scripts/ensure_libopus.sh python3 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 vixio && install --directory --owner vixio --mode 700 /var/lib/vixio
COPY --from=build /opt/vixio /opt/vixio
# Packages of the system that extras need; all else of them is there.
ARG EXTRAS=""
RUN /usr/local/lib/vixio/scripts/finish_extra.sh /opt/vixio $EXTRAS && rm -rf /var/lib/apt/lists/*
# The database (docs/data.md) is /var/lib/vixio/vixio.db, models (docs/models.md) lie in
# /var/lib/vixio/models: keep both in a named volume.
ENV PATH=/opt/vixio/bin:$PATH PYTHONUNBUFFERED=1 XDG_STATE_HOME=/var/lib XDG_DATA_HOME=/var/lib VIXIO_IMAGE=1
# What vixio/core/telemetry.py sets, for programs here that do not import Vixio (docs/security.md).
ENV ORT_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_TELEMETRY=1 LITELLM_LOCAL_MODEL_COST_MAP=True \
    LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS=True OPENAI_AGENTS_DISABLE_TRACING=1 \
    FASTAPI_OTEL_AUTO_CONFIGURE=false
VOLUME /var/lib/vixio
USER vixio
WORKDIR /home/vixio
# 8000: WebSocket, where devices talk. 8003: HTTP, the OTA address that a device is given.
# With the section `mqtt` besides: 1883, and 8884 (UDP) for the audio.
EXPOSE 8000 8003
# A model may take minutes to load; the first answer that is 200 ends the start at once.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5m --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8003/readyz', timeout=4)"]
CMD ["vixio", "serve", "--host", "0.0.0.0"]
