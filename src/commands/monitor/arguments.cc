#include "commands/monitor/arguments.h"

#include "base/error.h"
#include "base/say.h"

namespace troika::commands {

config::FlagTable monitor_flags(MonitorArguments& a) {
  config::FlagTable table("troika monitor");
  table.usage("[RUN] [--interval S] [--once] [--json]");
  table.usage("--log FILE [--interval S] ...");
  table.word("RUN", a.run, "The folder of a run, a folder with runs below it, or a file of a run.")
      .unset("the run below ./runs that changed last");
  table.add("log", a.log, "A file of the run, such as RUN/run.log or RUN/metrics.jsonl, instead of RUN.")
      .shown("FILE")
      .unset("RUN");
  table.add("interval", a.interval_seconds, "How often it looks.").unit("seconds").range(0.1, 3600);
  table.add("once", a.once, "Print what there is as text, and end.").alone();
  table.add("json", a.json, "With --once one JSON object; without it one per line and interval.").alone();
  table.paragraph(
      "On a terminal one screen that redraws itself; q or Ctrl-C leaves it. Elsewhere a line per interval, and it "
      "ends\n"
      "with the run. It only reads the run's folder: whatever becomes of it, the run continues. The folder of host 0 "
      "has\n"
      "what the ranks of all hosts said.");
  return table;
}

MonitorArguments parse_monitor_arguments(const std::vector<std::string>& words) {
  MonitorArguments a;
  const config::FlagTable table = monitor_flags(a);
  config::read_flags({&table}, words).finish();
  if (!a.run.empty() && !a.log.empty())
    throw base::ConfigError(base::say("RUN '{}' and --log '{}' both name the run: give one of them", a.run, a.log));
  return a;
}

}  // namespace troika::commands
