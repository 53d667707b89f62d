# syntax=docker/dockerfile:1
# docker build -t skiffd .                     the agent alone, to run as it is or to copy into another image:
#                                              COPY --from=skiffd /skiffd /usr/local/bin/skiffd
# docker build -t skiff-work --target work .   Debian with Python, Node.js and git for agents to work in
# docker build -t sandbox --target kubebox .   the same for Pods that kubebox's manager makes: its clients' protocol on port 80
# docker build -t skiff --target launcher .    the launcher, for jobs in a cluster (deploy/)
# docker build -t skiff --target serve .       the same, with the port of `skiff serve` (deploy/serve)
#
# Tags move. For a build that can be repeated name digests, as `docker buildx imagetools inspect debian:12` shows them:
# docker build --build-arg DEBIAN=debian:12@sha256:... --build-arg NODE=... .
#
# Binaries that are built already (`make build`) save the first stages:
# docker build --build-context build-skiffd=DIR .                    with DIR/out/skiffd
# docker build --build-context build-skiff=DIR --target launcher .   with DIR/out/{skiff,ca-certificates.crt}; also serve
ARG DEBIAN=debian:12
ARG NODE=node:22-bookworm-slim

FROM ${DEBIAN} AS tools
WORKDIR /src
COPY .ci/lib.sh .ci/setup .ci/
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean && .ci/setup
COPY . .

FROM tools AS build-skiffd
RUN --mount=type=cache,target=/root/.cache/ccache \
    .ci/build skiffd && install -D --target-directory=/out build/release/skiffd

FROM ${NODE} AS node

# npm builds the page of the console.
FROM tools AS build-skiff
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
RUN --mount=type=cache,target=/root/.cache/ccache \
    .ci/console && .ci/build skiff && install -D --target-directory=/out build/release/skiff \
 && install -m 644 /etc/ssl/certs/ca-certificates.crt /out/

FROM ${DEBIAN} AS work
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      ca-certificates curl git libcap2-bin procps python3 python3-pip python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --user-group --create-home --shell /bin/bash agent \
 && install -d -o agent -g agent /workspace
# Debian's Node.js is too old to run TypeScript as it stands.
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
COPY LICENSE NOTICE /licenses/
COPY --from=build-skiffd /out/skiffd /usr/local/bin/skiffd
USER 1000:1000
WORKDIR /workspace
EXPOSE 7070
ENTRYPOINT ["/usr/local/bin/skiffd"]

# The manager names an image and a port and nothing else. The port takes a capability where the container runtime keeps it from
# ordinary users; commands don't inherit it. The agent's own API has a token, which the log shows.
FROM work AS kubebox
USER root
RUN setcap cap_net_bind_service=ep /usr/local/bin/skiffd
ENV SKIFF_DIALECT=kubebox SKIFF_PRINT_TOKEN=true
USER 1000:1000
EXPOSE 80

FROM scratch AS launcher
COPY LICENSE NOTICE /licenses/
# Where its OpenSSL looks: the authorities of servers that are not a cluster's own.
COPY --from=build-skiff /out/ca-certificates.crt /usr/lib/ssl/cert.pem
COPY --from=build-skiff /out/skiff /usr/local/bin/skiff
USER 1000:1000
ENTRYPOINT ["/usr/local/bin/skiff"]

FROM launcher AS serve
EXPOSE 7080

FROM scratch AS skiffd
COPY LICENSE NOTICE /licenses/
COPY --from=build-skiffd /out/skiffd /skiffd
USER 1000:1000
EXPOSE 7070
ENTRYPOINT ["/skiffd"]
