# shellcheck shell=bash disable=SC2034
# Steps with a log, a time and a count each, for .ci/run and .ci/nightly (sourced, after lib.sh): `begin NAME`, any number of
# `step NAME COMMAND...`, `finish`.

begin() { # begin NAME: the logs are build/NAME/STEP.log
  logs=$top/build/$1
  export CI=true SKIFF_CASE_LIST=$logs/cases
  rm -rf "$logs"
  mkdir -p "$logs"
}

step() { # step NAME COMMAND...: one whose output ends with `N passed, N failed` counts so, any other one as one
  local name=$1 status=0 last good bad wall user system
  shift
  say "$name"
  local TIMEFORMAT='%0R %0U %0S'
  { time "$@" >"$logs/$name.log" 2>&1 || status=$?; } 2>"$logs/$name.time"
  read -r wall user system <"$logs/$name.time"
  # make tells below it that what it ran has failed and, when another make has started it, which directory it leaves.
  last=$(grep -vE '^make(\[[0-9]+\])?: ' "$logs/$name.log" | tail -n 1)
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    good=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]}
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
  elif [ "$status" = 0 ]; then
    good=1 bad=0
  else
    good=0 bad=1
  fi
  if [ "$bad" != 0 ]; then
    printf -- '---- the end of %s\n%s\n----\n' "${logs#"$top/"}/$name.log" "$(tail -n 60 "$logs/$name.log")"
  fi
  printf '%-8s %5d passed %4d failed %6d s, processors %6d s\n' "$name" "$good" "$bad" "$wall" $((user + system)) | tee -a "$logs/summary"
  [ "$bad" = 0 ]
}

finish() { # prints the summary; fails when a step did
  printf '\n%s\n' "$(cat "$logs/summary")"
  printf 'in all: %d min %d s\n' $((SECONDS / 60)) $((SECONDS % 60))
  named() { # named WORD: the lines `N WORD: ...` of all steps as one
    sed -n "s/^\([0-9]*\) $1: \(.*\)/\1 \2/p" "$logs"/*.log |
      awk -v word="$1" '{count += $1; $1 = ""; all = all (all == "" ? "" : ";") $0} END {if (count) print count " " word ":" all}'
  }
  named flaky
  named 'not run'
  # `N passed` counts executions. A case that several suites run is one distinct case.
  [ ! -s "$SKIFF_CASE_LIST" ] || printf '%d distinct cases\n' "$(sort -u "$SKIFF_CASE_LIST" | wc -l)"
  awk '{passed += $2; failed += $4} END {print passed + 0 " passed, " failed + 0 " failed"; exit !(failed == 0 && passed > 0)}' "$logs/summary"
}
