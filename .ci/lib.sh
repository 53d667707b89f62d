# shellcheck shell=bash disable=SC2034
# Shared by the scripts in this directory (sourced). They run from the top of the tree and read no standard input.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
exec </dev/null
export LC_ALL=C.UTF-8
# Objects are found again from another checkout of the same sources.
export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1

# Everything that outlives a build directory: tools that were built, what the linters have already passed.
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/skiff
mkdir -p "$cache"

# For Kubernetes and its add-ons, which need a newer Go than Debian 12 has. Go publishes its toolchains as modules.
go_version=1.26.8
[ ! -x "$cache/go-$go_version/bin/go" ] || PATH=$cache/go-$go_version/bin:$PATH

# What comes from PyPI, in an environment of its own; another list of versions makes another one.
python_tools=$cache/python-tools-$(sha256sum .ci/python-tools.txt | cut -c1-12)

# What both programs are built of. Debian 12's own choice of Boost is 1.74, which is too old.
boost=1.81
[ "$(. /etc/os-release && echo "${VERSION_ID:-}")" != 13 ] || boost=1.83
libraries=(libboost$boost-dev libboost-url$boost-dev nlohmann-json3-dev libssl-dev libre2-dev libzstd-dev zlib1g-dev libyaml-cpp-dev
  libarchive-dev libacl1-dev libnghttp2-dev libprotozero-dev libc-ares-dev)

say() { printf '==> %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# How many compilers at once: one a core, and 1.5 GiB of memory for each.
jobs=$(nproc)
memory=$(awk '/^MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
[ "$memory" -ge "$jobs" ] || jobs=$((memory > 1 ? memory : 1))

build() { # build PRESET [TARGET...]: configures and builds, politely, and one at a time in each build directory
  local preset=$1 lock status=0
  shift
  mkdir -p build
  exec {lock}>"build/$preset.lock"
  flock "$lock"
  configure_and_build "$preset" "$@" || status=$?
  exec {lock}>&-
  return "$status"
}

configure_and_build() {
  local preset=$1
  shift
  cmake --preset "$preset" >"$cache/configure-$preset.log" 2>&1 || {
    cat "$cache/configure-$preset.log" >&2
    return 1
  }
  nice cmake --build "build/$preset" --parallel "$jobs" ${1+--target "$@"}
}
