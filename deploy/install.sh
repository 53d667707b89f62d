#!/bin/sh
# Installs skiff and skiffd; `usage` says how. It needs no root. It verifies the archive against SHA256SUMS, and changes nothing when
# that fails.
set -eu

project=https://forge.invalid/skiff

usage() {
  cat <<TEXT
Installs skiff and skiffd, without root. It takes no arguments; variables go directly before sh:

  curl -fsSL $project/releases/latest/download/install.sh | sh
  curl -fsSL $project/releases/latest/download/install.sh | SKIFF_PREFIX=/opt/skiff sh

  SKIFF_VERSION=X.Y.Z    another version than the newest
  SKIFF_PREFIX=DIR       another place than ~/.local
  SKIFF_FROM=URL         a directory with the files of a release, https://... or file:///...
  SKIFF_PUBLIC_KEY=FILE  verifies the signature of SHA256SUMS with that key, by openssl
TEXT
}

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

is_of_this_machine() { # is_of_this_machine http://HOST[:PORT][/...]
  host=${1#http://}
  host=${host%%/*}
  case $host in
    *@*) return 1 ;;
    localhost | localhost:* | 127.0.0.1 | 127.0.0.1:* | "[::1]" | "[::1]:"*) return 0 ;;
    *) return 1 ;;
  esac
}

case ${1-} in
  "") [ $# -eq 0 ] || fail "it takes no arguments: --help shows its variables" ;;
  -h | --help)
    usage
    exit 0
    ;;
  *) fail "it takes no arguments, and got $1: --help shows its variables" ;;
esac

if [ -n "${SKIFF_PREFIX:-}" ]; then
  prefix=$SKIFF_PREFIX
elif [ -n "${HOME:-}" ]; then
  prefix=$HOME/.local
else
  fail "HOME is not set: SKIFF_PREFIX=DIR says where to install"
fi
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
[ "$(uname -s)" = Linux ] ||
  fail "the programs run on Linux; on $(uname -s) run a container image with skiffd: $project/blob/main/docs/install.md"
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no release for $(uname -m): build it, as $project/blob/main/docs/install.md says" ;;
esac
wanted=${SKIFF_VERSION:-}
wanted=${wanted#v}
case $wanted in
  *[!0-9.]*) fail "SKIFF_VERSION is \"$SKIFF_VERSION\", and must be like 1.2.3" ;;
esac
if [ -n "${SKIFF_FROM:-}" ]; then
  from=${SKIFF_FROM%/}
elif [ -n "$wanted" ]; then
  from=$project/releases/download/v$wanted
else
  from=$project/releases/latest/download
fi
case $from in
  https://* | file:///*) ;;
  http://*) is_of_this_machine "$from" || fail "SKIFF_FROM is $from: use https, because others can change what http brings" ;;
  *) fail "SKIFF_FROM is \"$from\", and must be https://... or file:///..." ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
get() { # get FILE: from the release, into $work
  case $from in
    file://*)
      cp "${from#file://}/$1" "$work/$1" 2>/dev/null || fail "$from/$1 can't be read"
      return
      ;;
  esac
  if command -v curl >/dev/null; then
    curl -fsSL --proto "=${from%%:*}" --proto-redir '=https' --retry 2 -o "$work/$1" "$from/$1" || fail "$from/$1 can't be fetched"
  elif command -v wget >/dev/null; then
    wget -q -O "$work/$1" "$from/$1" || fail "$from/$1 can't be fetched"
  else
    fail "curl or wget is needed"
  fi
}

get SHA256SUMS
if [ -n "${SKIFF_PUBLIC_KEY:-}" ]; then
  [ -r "$SKIFF_PUBLIC_KEY" ] || fail "SKIFF_PUBLIC_KEY: $SKIFF_PUBLIC_KEY can't be read"
  command -v openssl >/dev/null || fail "openssl is needed to verify a signature"
  get SHA256SUMS.sig
  openssl base64 -d -A -in "$work/SHA256SUMS.sig" -out "$work/signature" &&
    openssl dgst -sha256 -verify "$SKIFF_PUBLIC_KEY" -signature "$work/signature" "$work/SHA256SUMS" >/dev/null 2>&1 ||
    fail "SHA256SUMS is not signed with $SKIFF_PUBLIC_KEY: nothing was installed"
fi
line=$(grep -E "^[0-9a-f]{64}  skiff-[0-9.]+-linux-$arch\.tar\.gz\$" "$work/SHA256SUMS") || fail "SHA256SUMS has no archive for $arch"
archive=${line#*  }
[ -z "$wanted" ] || [ "$archive" = "skiff-$wanted-linux-$arch.tar.gz" ] ||
  fail "SKIFF_VERSION is $wanted, and $from has $archive: nothing was installed"
get "$archive"
(cd "$work" && printf '%s\n' "$line" | sha256sum -c - >/dev/null 2>&1) || fail "$archive is not what SHA256SUMS says: nothing was installed"
tar -xzf "$work/$archive" -C "$work"
base=$work/${archive%.tar.gz}

mkdir -p "$prefix/bin" "$prefix/share"
prefix=$(cd "$prefix" && pwd)
for program in skiff skiffd; do
  # A new file each, so that a program that runs keeps its own.
  cp "$base/bin/$program" "$prefix/bin/.$program.new"
  mv -f "$prefix/bin/.$program.new" "$prefix/bin/$program"
done
cp -R "$base/share/." "$prefix/share/"
# Its variables are not those of skiff.
version=$(unset SKIFF_VERSION SKIFF_PREFIX SKIFF_FROM SKIFF_PUBLIC_KEY; "$prefix/bin/skiff" version)
printf 'installed %s in %s\n' "$version" "$prefix/bin"
case ${SHELL:-}:$prefix in
  */zsh:/usr/local | */zsh:/usr) ;; # zsh looks there by itself
  */zsh:*) printf 'for completion add to ~/.zshrc, before compinit:  fpath=("%s/share/zsh/site-functions" %s)\n' "$prefix" "\$fpath" ;;
esac
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) printf 'add it to PATH:  export PATH="%s/bin:%s"\n' "$prefix" "\$PATH" ;;
esac
printf 'try it:  skiff up demo\n'
