# windrow with what its demo needs, in the locked versions:
#
#     docker build -t windrow .
#     docker run --rm windrow demo /tmp/demo
#     docker run --rm -v "$PWD/harvest:/workspace" --user "$(id -u)" windrow status

FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements requirements
RUN python -m venv /opt/windrow
RUN /opt/windrow/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
RUN /opt/windrow/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r requirements/demo.txt
COPY . .
RUN /opt/windrow/bin/pip install --no-cache-dir --no-build-isolation --no-deps .
RUN /opt/windrow/bin/pip uninstall --yes editables hatchling uv

FROM python:3.12-slim
COPY --from=build /opt/windrow /opt/windrow
ENV PATH=/opt/windrow/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --create-home harvest && install -d -o harvest /workspace
USER harvest
WORKDIR /workspace
VOLUME /workspace
ENTRYPOINT ["windrow"]
CMD ["--help"]
