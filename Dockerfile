# driftledger with what services need; a project's folder is mounted at /work:
#
#   docker build -t driftledger .
#   docker run --rm -it --user "$(id -u):$(id -g)" -e OPENAI_API_KEY -v "$PWD:/work" driftledger plan
#
# With checkpoints on a GPU (torch for CUDA, 7 GB more), then 'docker run --gpus all …':
#
#   docker build --build-arg EXTRAS=openai,huggingface,xlsx,torch,diffusers,open_clip -t driftledger:gpu .
ARG PYTHON=3.13
FROM python:${PYTHON}-slim AS base
# safe.directory: Git refuses a checkout of another user, and the owner of the mounted folder often has another number
# than the user in here. Of all folders, only that one is excepted.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home driftledger \
    && chmod 1777 /home/driftledger \
    && git config --system --add safe.directory /work
# also for the user that --user names: caches of calls and of checkpoints are below it
ENV HOME=/home/driftledger PYTHONUNBUFFERED=1
WORKDIR /work

FROM base
ARG EXTRAS=openai,huggingface,xlsx
COPY pyproject.toml requirements-all.txt README.md LICENSE NOTICE /opt/driftledger/
COPY src /opt/driftledger/src
RUN pip install --no-cache-dir --constraint /opt/driftledger/requirements-all.txt "/opt/driftledger[${EXTRAS}]"
USER driftledger
ENTRYPOINT ["driftledger"]
CMD ["--help"]
