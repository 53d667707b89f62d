# Runs the bash of one context: see worker.py. A request is its number and its code, each ended by a NUL byte.
trap : INT
while IFS= read -r -d '' -u 4 skiff_id && IFS= read -r -d '' -u 4 skiff_code; do
  eval "$skiff_code" </dev/null 4<&- 5>&-
  skiff_status=$?
  if [ "$skiff_status" != 0 ]; then
    printf '{"id":%s,"error":{"name":"ExitStatus","value":"%s","traceback":""}}\n' "$skiff_id" "$skiff_status" >&5
  fi
  printf '{"id":%s,"end":%s}\n' "$skiff_id" "$((++skiff_count))" >&5
done
