# calharness in a container:  docker build -t calharness .
#   docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" calharness judge preds.csv --html report.html
# Two stages: the first builds the wheel and installs it with the pinned versions, the second has neither compilers nor sources.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY . .
# empty, or a list such as [site,optuna]
ARG EXTRAS=""
RUN python -m venv /opt/calharness \
 && python -m pip wheel --quiet --no-cache-dir --no-deps --wheel-dir /wheel . \
 && /opt/calharness/bin/python -m pip install --quiet --no-cache-dir -c constraints.txt "$(ls /wheel/*.whl)${EXTRAS}"

FROM python:3.11-slim-bookworm
# LightGBM's OpenMP
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/calharness /opt/calharness
RUN useradd --create-home --uid 1000 calharness && mkdir /work && chown calharness /work
# whoever runs it may write compiled code and settings of matplotlib, and results into the working folder alone
ENV PATH=/opt/calharness/bin:$PATH MPLCONFIGDIR=/tmp/matplotlib NUMBA_CACHE_DIR=/tmp/numba PYTHONUNBUFFERED=1
USER calharness
WORKDIR /work
ENTRYPOINT ["calharness"]
CMD ["--help"]
