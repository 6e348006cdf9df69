#!/usr/bin/env bash
# Has the programs that read what Troika exports read it: TensorBoard, Prometheus, promtool. By hand, about 5 minutes.
#
#   tools/proofs/exporters.sh [FOLDER_WITH_TROIKA]     (default: build/release)
#
# TensorBoard comes by pip into a virtual environment of the work folder, Prometheus from Debian into the work folder (nothing is installed).
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${1:-$root/build/release}" && pwd) || exit 2
parts=$root/tools/proofs/exporters
export OMP_NUM_THREADS=1 LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/troika-exporters-XXXXXX")
export XDG_CONFIG_HOME=$work/xdg
mkdir "$work/bin" && cp "$bin/troika" "$work/bin" || exit 2 # a build meanwhile changes nothing
bin=$work/bin
started=()
failures=0

clean_up() {
  [ ${#started[@]} = 0 ] || kill "${started[@]}" 2> /dev/null
  wait 2> /dev/null
  rm -rf "$work"
}
trap clean_up EXIT
check() { # check TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then
    echo "ok    $text"
  else
    echo "FAIL  $text"
    failures=$((failures + 1))
  fi
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
await() { # await SECONDS COMMAND...
  local until=$(($(date +%s) + $1))
  shift
  until "$@" 2> /dev/null > /dev/null; do
    [ "$(date +%s)" -lt "$until" ] || return 1
    sleep 0.2
  done
}

# --- tools ------------------------------------------------------------------------------------------------------------

python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q tensorboard 'setuptools<80' || exit 2
python=$work/venv/bin/python
prometheus=$(command -v prometheus) promtool=$(command -v promtool)
if [ -z "$prometheus" ] || [ -z "$promtool" ]; then
  (cd "$work" && apt-get download -q prometheus > /dev/null && dpkg -x prometheus_*.deb prometheus) || exit 2
  prometheus=$work/prometheus/usr/bin/prometheus promtool=$work/prometheus/usr/bin/promtool
fi
echo "      | $("$prometheus" --version 2>&1 | head -n 1)"
echo "      | tensorboard $("$work/venv/bin/pip" show tensorboard | sed -n 's/^Version: //p')"

# --- TensorBoard ------------------------------------------------------------------------------------------------------

seq 1 20000 > "$work/corpus.txt"
model=(--model.layers 2 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192 --model.vocab 259
  --seq-len 64 --micro-batch-size 1 --global-batch-size 12 --seed 7 --train.threads 1 --data.train "$work/corpus.txt" --data.tokenizer bytes
  --log.progress none --log.sample-seconds 1)
steps_done() { [ "$(wc -l < "$1/metrics.jsonl")" -ge "$2" ]; }

tb=$work/tb
"$bin/troika" train "${model[@]}" --out "$tb" --steps 300 --train.eval-every 20 --data.valid "$work/corpus.txt" --data.max-samples 60 \
  --checkpoint.every 50 --report_to tensorboard > "$work/tb.log" 2>&1 &
killed=$!
check "a run with --report_to tensorboard trains" await 60 steps_done "$tb" 120
kill -9 $killed && wait $killed 2> /dev/null
"$bin/troika" train "${model[@]}" --out "$tb" --steps 300 --train.eval-every 20 --data.valid "$work/corpus.txt" --data.max-samples 60 \
  --checkpoint.every 50 --report_to tensorboard >> "$work/tb.log" 2>&1
check "it was killed and resumed" grep -q "resumed from step" "$work/tb.log"
check "TensorBoard gives back metrics.jsonl, without a zigzag" "$python" "$parts/read_events.py" "$tb" "$tb/tensorboard" 2 overlap
check "so it does after troika metrics --tensorboard" eval \
  '"$bin/troika" metrics "$tb" --tensorboard "$work/made" && "$python" "$parts/read_events.py" "$tb" "$work/made" 1'
check "the CSV has every value" python3 - "$tb" <(
  "$bin/troika" metrics "$tb" --csv
) << 'PYTHON'
import csv, json, sys
rows = [json.loads(line) for line in open(sys.argv[1] + "/metrics.jsonl")]
table = list(csv.DictReader(open(sys.argv[2], newline="")))
assert len(rows) == len(table)
for row, line in zip(rows, table):
    for key, cell in line.items():
        value = row.get(key)
        assert (cell == "" if value is None else cell == value if key == "loss_bits" else float(cell) == value), (key, cell, value)
print(f"      | {len(table)} rows, {len(table[0])} columns")
PYTHON

# --- Prometheus -------------------------------------------------------------------------------------------------------

check "promtool is content with the alerts" eval '"$promtool" check rules "$root/tools/grafana/alerts.yml" | sed "s/^/      | /"; [ "${PIPESTATUS[0]}" = 0 ]'
real=$(free_port) healthy=$(free_port) sick=$(free_port) own=$(free_port)
"$bin/troika" launch --nproc-per-node 2 --metrics-port "$real" -- train "${model[@]}" --dp 2 --out "$work/real" --steps 1000000 \
  --checkpoint.every 500 > "$work/real.log" 2>&1 &
launcher=$!
started+=($launcher)
for kind in healthy sick; do
  python3 "$parts/made_run.py" "$work/$kind" $kind &
  started+=($!)
  await 10 test -e "$work/$kind/state.json"
  python3 "$parts/serve_run.py" "$bin/troika" "$work/$kind" "${!kind}" &
  [ $kind = healthy ] || server=$!
  started+=($!)
done
cat > "$work/prometheus.yml" << END
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [$root/tools/grafana/alerts.yml]
scrape_configs:
  - job_name: troika
    static_configs: [{targets: ["127.0.0.1:$real", "127.0.0.1:$healthy", "127.0.0.1:$sick"]}]
END
"$prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="127.0.0.1:$own" \
  > "$work/prometheus.log" 2>&1 &
started+=($!)
ask=(python3 "$parts/ask_prometheus.py" "http://127.0.0.1:$own")
await 60 curl -sf "http://127.0.0.1:$real/metrics"
await 30 eval 'curl -s "http://127.0.0.1:$real/metrics" | grep -q troika_link_bytes_total'
for port in $real; do
  check "promtool is content with the text of a real run" eval \
    'curl -s "http://127.0.0.1:$port/metrics" | "$promtool" check metrics 2>&1 | sed "s/^/      | /"; [ "${PIPESTATUS[1]}" = 0 ]'
done
curl -s "http://127.0.0.1:$real/metrics" | grep -c '^# TYPE' | sed 's/^/      | families of the real run: /'
up() { [ "$(curl -s "http://127.0.0.1:$own/api/v1/query" --data-urlencode 'query=sum(up)' | grep -o '"3"')" = '"3"' ]; }
check "Prometheus scrapes a real run and two made up" await 30 up
(sleep 90 && kill "$server") &
started+=($!)
sleep 25
check "every query of the dashboard has data, on the run with all records" "${ask[@]}" dashboard "$root/tools/grafana/troika.json" "127.0.0.1:$healthy"
echo "      | and on the real run, which has no fp16, no evaluation, and of the host what this machine tells:"
"${ask[@]}" dashboard "$root/tools/grafana/troika.json" "127.0.0.1:$real"
check "every alert fires once on the sick run" "${ask[@]}" alerts "$root/tools/grafana/alerts.yml" "127.0.0.1:$sick" 240
check "none has fired on the healthy one" "${ask[@]}" quiet "127.0.0.1:$healthy"
check "none has fired on the real one" "${ask[@]}" quiet "127.0.0.1:$real"
kill -INT $launcher && wait $launcher
check "the run stopped as asked" test $? = 130

[ $failures = 0 ] && echo "exporters: all good" || echo "exporters: $failures failed"
exit $((failures > 0))
