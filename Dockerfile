# syntax=docker/dockerfile:1
# docker build -t skiffd .                  the binary alone, to run as it is or to copy into another image:
#                                           COPY --from=skiffd /skiffd /skiffd
# docker build -t skiff-work --target work .  Debian with Python, Node.js and git for agents to work in
# docker build -t skiff --target launcher .   the launcher, for jobs in a cluster (deploy/)
#
# Binaries that are built already (`make build`) save the first stage:
# docker build --build-context build=DIR .  with DIR/out/{skiffd,skiff,ca-certificates.crt}

FROM debian:12 AS build
WORKDIR /src
COPY .ci/lib.sh .ci/setup .ci/
RUN .ci/setup
COPY . .
RUN .ci/build skiffd skiff && install -D --target-directory=/out build/release/skiffd build/release/skiff \
 && install -m 644 /etc/ssl/certs/ca-certificates.crt /out/

FROM debian:12 AS work
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      ca-certificates curl git nodejs npm procps python3 python3-pip python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --user-group --create-home --shell /bin/bash agent \
 && install -d -o agent -g agent /workspace
COPY --from=build /out/skiffd /usr/local/bin/skiffd
USER 1000:1000
WORKDIR /workspace
EXPOSE 7070
ENTRYPOINT ["/usr/local/bin/skiffd"]

# skiff resolves names, which takes glibc's shared libraries.
FROM debian:12-slim AS launcher
# Where its OpenSSL looks: the authorities of servers that are not a cluster's own.
COPY --from=build /out/ca-certificates.crt /usr/lib/ssl/cert.pem
COPY --from=build /out/skiff /usr/local/bin/skiff
USER 1000:1000
ENTRYPOINT ["/usr/local/bin/skiff"]

FROM scratch AS skiffd
COPY --from=build /out/skiffd /skiffd
USER 1000:1000
EXPOSE 7070
ENTRYPOINT ["/skiffd"]
