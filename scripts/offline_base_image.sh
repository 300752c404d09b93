#!/usr/bin/env bash
# Make a Python base image from Debian packages where no image can be pulled, and print its name.
# Needs root, a container engine, mmdebstrap and the machine's own package mirror; names no host.
set -euo pipefail
image=${1:-mockgitea/python-base:local}
if docker image inspect "$image" >/dev/null 2>&1; then
    echo "$image"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
[ -n "$mirror" ] || mirror=$(awk '$1 == "deb" {for (i = 2; i <= NF; i++) if ($i ~ /^http/) {print $i; exit}}' /etc/apt/sources.list)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --quiet --variant=minbase --include=python3,python3-pip,python3-venv,ca-certificates,git \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    "$suite" "$scratch/base.tar" "$mirror" >&2
docker import --change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]' "$scratch/base.tar" "$image-raw" >/dev/null
# The machine's certificates and pip configuration go in, so that its package index can be reached from a build.
mkdir "$scratch/context"
cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$scratch/context/ca.crt"
{ python3 -m pip config list 2>/dev/null || true; } |
    awk -F= '$1 ~ /index-url$/ {gsub(/\x27/, "", $2); print "[global]"; print "index-url = " $2; exit}' >"$scratch/context/pip.conf"
grep -q global "$scratch/context/pip.conf" || echo "[global]" >"$scratch/context/pip.conf"
if [ -n "${PIP_INDEX_URL:-}" ]; then
    printf '[global]\nindex-url = %s\n' "$PIP_INDEX_URL" >"$scratch/context/pip.conf"
fi
echo "cert = /etc/ssl/certs/ca-certificates.crt" >>"$scratch/context/pip.conf"
cat >"$scratch/context/Dockerfile" <<EOF
FROM $image-raw
COPY ca.crt /etc/ssl/certs/ca-certificates.crt
COPY pip.conf /etc/pip.conf
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && ln -sf /usr/bin/python3 /usr/local/bin/python
EOF
docker build --quiet --tag "$image" "$scratch/context" >/dev/null
echo "$image"
