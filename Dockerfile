# Built and run with podman, as `compose.yaml` runs it, on Debian 13 with its own Python in place of the base image.
FROM python:3.13-slim-trixie AS packages
COPY requirements/base.txt /base.txt
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /base.txt

FROM python:3.13-slim-trixie
# pg_dump and pg_restore, for `manage.py backup` and `restore`; not older than the server that they talk to.
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin stillhere && install -d -m 0700 -o stillhere /data
COPY --from=packages /venv /venv
COPY . /app
WORKDIR /app
# The file system may be read-only: each start would compile it all.
RUN /venv/bin/python -m compileall -q .
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    STILLHERE_DATA_DIR=/data STILLHERE_HOST=0.0.0.0 STILLHERE_PORT=8000
USER stillhere
VOLUME /data
EXPOSE 8000
# The first start makes the tables, which takes a slow machine more than a minute.
HEALTHCHECK --interval=10s --timeout=5s --start-period=180s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
# SIGTERM answers what was received, then ends: give it more than its ten seconds.
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "serve"]
