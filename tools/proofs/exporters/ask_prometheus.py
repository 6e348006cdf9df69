"""Asks a Prometheus that scrapes runs: ask_prometheus.py URL dashboard JSON INSTANCE | alerts RULES INSTANCE SECONDS | quiet INSTANCE"""

import json
import sys
import time
import urllib.parse
import urllib.request

url, what = sys.argv[1], sys.argv[2]


def get(path, **parameters):
    with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=20) as answer:
        return json.load(answer)["data"]


def query(expression):
    return get("query", query=expression)["result"]


def dashboard(file, instance):
    """Every query of every panel, for the run that the instance serves, must have data."""
    board = json.load(open(file))
    run = query(f'troika_run_info{{instance="{instance}"}}')[0]["metric"]["run"]
    assert run in get("label/run/values", **{"match[]": "troika_run_info"})
    without = []
    queries = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel.get("targets", [])]
    for title, expression in queries:
        found = query(expression.replace("$__rate_interval", "30s").replace("$run", run))
        if not found or any(value["value"][1] == "" for value in found):
            without.append(f"{title}: {expression}")
    print(f"      | {len(queries) - len(without)} of {len(queries)} queries have data for {run}")
    for line in without:
        print(f"      | no data: {line}")
    return not without


def alerts(file, instance, seconds):
    """Every rule of the file fires for the instance within so many seconds."""
    wanted = [line.split("alert:")[1].strip() for line in open(file) if "- alert:" in line]
    fired = {}
    until = time.time() + float(seconds)
    while time.time() < until and set(fired) != set(wanted):
        for alert in get("alerts")["alerts"]:
            labels = alert["labels"]
            if labels.get("instance") == instance and alert["state"] == "firing":
                fired.setdefault(labels["alertname"], {})[json.dumps(labels, sort_keys=True)] = alert["annotations"]["summary"]
        time.sleep(1)
    for name in wanted:
        print(f"      | {name}: {'; '.join(fired[name].values()) if name in fired else 'did NOT fire'}")
    return all(len(fired.get(name, {})) == 1 for name in wanted)


def quiet(instance):
    """No rule has fired for the instance, ever."""
    found = query(f'max_over_time(ALERTS{{instance="{instance}", alertstate="firing"}}[1h])')
    for alert in found:
        print(f"      | fired: {alert['metric']}")
    return not found


sys.exit(not {"dashboard": dashboard, "alerts": alerts, "quiet": quiet}[what](*sys.argv[3:]))
