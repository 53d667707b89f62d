#!/usr/bin/env bash
# A client of skiffd in one file, with curl and jq; `shell` takes websocat as well.
usage='
  export SKIFF_URL=http://127.0.0.1:7070 SKIFF_TOKEN=...
  skiff.sh run COMMAND              its output when it has ended; ends with its exit status
  skiff.sh stream COMMAND           its output as it comes; resumes after a broken connection
  skiff.sh put LOCAL REMOTE         writes a file, all of it or nothing
  skiff.sh get REMOTE LOCAL
  skiff.sh edit REMOTE OLD NEW      replaces OLD, which must be there once; prints the diff
  skiff.sh grep PATTERN [DIRECTORY] PATH:LINE:TEXT; ends with 1 if there is none
  skiff.sh shell                    a terminal'
set -euo pipefail
url=${SKIFF_URL:-http://127.0.0.1:7070}
session=$url/v1/sessions/default

fail() {
  printf 'skiff: %s\n' "$*" >&2
  exit 125 # the exit status of what is no command's own, as docker has it
}

[[ $# -eq 0 || ${SKIFF_TOKEN-} ]] || fail "SKIFF_TOKEN is not set: \`make run\` prints the line that sets it"

# The credential goes through a file descriptor: arguments can be seen by everybody on the machine.
call() { curl -sN --config <(printf 'header = "Authorization: Bearer %s"\n' "${SKIFF_TOKEN-}") "$@"; }

# Not --json, which curl has since 7.82.
json=(-H 'Content-Type: application/json' -d)

# What the agent answered to a request that it refused, in its own words.
refusal() { jq -er '"\(.detail // .title) [\(.code)]"'; }

# A request with one answer, to stdout; ends the script when it is refused.
ask() {
  local answer
  answer=$(call --fail-with-body "$@") || fail "$(refusal <<<"$answer" 2>/dev/null || echo "no answer from $url")"
  printf '%s\n' "$answer"
}

# Where a file is: with %2F even `../x` arrives as it is.
file() { printf '%s/files/%s' "$session" "$(jq -rn --arg path "$1" '$path | @uri')"; }

# In jq: bytes as base64, whether they came as text or not, and the exit status, as a shell has it.
numbers='{SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15}'
# shellcheck disable=SC2016 # it is jq that knows these variables
words='def raw($name): .[$name + "_base64"] // (.[$name] | @base64);
  def exit_status: .exit_code // 128 + '$numbers'[.signal];'

run() {
  local result
  result=$(ask "$session/commands" "${json[@]}" "$(jq -n --arg command "$1" '{$command, on_disconnect: "kill"}')")
  jq -r "$words"' raw("stdout")' <<<"$result" | base64 -d
  jq -r "$words"' raw("stderr")' <<<"$result" | base64 -d >&2
  return "$(jq "$words exit_status" <<<"$result")"
}

# The id is ours, so it is started once however often it is asked for, and whatever happens to the connection, its log is
# read on from behind the last event that came.
stream() {
  local id start next='' failures kind number data
  id=c-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
  start=$(jq -n --arg command "$1" --arg id "$id" '{$id, $command, mode: "stream"}')
  trap 'call "$session/commands/$id/signal" "${json[@]}" "{\"signal\":\"SIGINT\"}"' INT # Ctrl-C is the command's
  for ((failures = 0; failures < 8; failures++)); do
    while read -r kind number data; do
      next=${next:-0} failures=0
      case $kind in
        stdout | stderr) show "$kind" "$data" || exit 125; next=$number ;;
        gap) printf 'skiff: %s bytes were dropped\n' "$number" >&2 ;;
        exit) return "$number" ;;
        refused) fail "$(base64 -d <<<"$data")" ;;
      esac
    done < <(events)
    sleep "$(((1 << failures) * 50))e-3"
  done
  fail "the connection to $url was cut again and again"
}

# A terminal's Ctrl-C goes to all that runs there: what has been taken must be shown, and the connection stay.
show() (
  trap '' INT
  [ "$1" = stdout ] || exec >&2
  exec base64 -d <<<"$2"
)

# One connection's events as lines that the shell can read: a last one that was cut is none.
events() {
  trap '' INT
  local -a request=("$session/commands" "${json[@]}" "$start")
  [ -z "$next" ] || request=("$session/commands/$id/output?follow=true&lossless=true&from=$next")
  call "${request[@]}" | jq --unbuffered -r "$words"'
    if .type == "output" then "\(.stream) \(.next) \(raw("data"))"
    elif .type == "gap" then "gap \(.to - .from) -"
    elif .type == "exit" then "exit \(exit_status) -"
    elif .detail then "refused - \("\(.detail) [\(.code)]" | @base64)"
    else "\(.type) - -" end' 2>/dev/null
}

put() { ask -X PUT --data-binary "@$1" "$(file "$2")" >/dev/null; }

get() {
  local answer
  call --fail-with-body -o "$2" "$(file "$1")" || {
    answer=$(refusal <"$2" 2>/dev/null) || answer="no answer from $url"
    rm -f "$2"
    fail "$answer"
  }
}

edit() {
  ask -X PATCH "$(file "$1")" "${json[@]}" "$(jq -n --arg old "$2" --arg new "$3" '{edits: [{$old, $new}]}')" | jq -j .diff
}

grep() {
  local answer
  answer=$(ask -G "$session/files:grep" --data-urlencode "pattern=$1" ${2+--data-urlencode "path=$2"}) || exit
  jq -r 'select(.line_number) | "\(.path):\(.line_number):\(.text // (.text_base64 | @base64d))"' <<<"$answer" | command grep ''
}

shell() {
  local rows=24 cols=80 socket
  if before=$(stty -g 2>/dev/null); then
    read -r rows cols < <(stty size)
    [ "$rows $cols" != "0 0" ] || rows=24 cols=80 # a terminal may not know its size
    trap 'stty "$before"' EXIT
    stty raw -echo
  fi
  socket="ws${url#http}/v1/shell?cols=$cols&rows=$rows"
  if [ -n "$before" ]; then
    websocat -bE "$socket" -H "Authorization: Bearer ${SKIFF_TOKEN-}" || fail "no terminal at $url"
  else # at the end of what is typed Ctrl-D
    { cat && printf '\004'; } | websocat -bn "$socket" -H "Authorization: Bearer ${SKIFF_TOKEN-}" || fail "no terminal at $url"
  fi
}

case "${1-} $#" in
  "run 2" | "stream 2" | "put 3" | "get 3" | "edit 4" | "grep 2" | "grep 3" | "shell 1") "$@" ;;
  *) fail "$usage" ;;
esac
