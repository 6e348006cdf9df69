#include "commands/metrics/arguments.h"

#include "base/say.h"

namespace troika::commands {

config::FlagTable metrics_flags(MetricsArguments& a) {
  config::FlagTable table("troika metrics");
  table.usage("RUN [--csv | --openmetrics | --tensorboard DIR] [--out FILE]");
  table.word("RUN", a.run, "The folder of a run, under way or ended.").required();
  table
      .add("csv", a.csv,
           "A row for each step, a column for each number; this is what it prints where nothing is asked for.")
      .alone();
  table.add("openmetrics", a.openmetrics, "What `troika launch --metrics-port` serves, once.").alone();
  table.add("tensorboard", a.tensorboard, "Write all steps as an event file for TensorBoard into this folder.")
      .shown("DIR")
      .unset("none");
  table.add("out", a.out, "Write to this file instead of standard output.").shown("FILE").unset("none");
  return table;
}

MetricsArguments parse_metrics_arguments(const std::vector<std::string>& words) {
  MetricsArguments a;
  const config::FlagTable table = metrics_flags(a);
  config::FlagReading reading = config::read_flags({&table}, words);
  const int forms = (a.csv ? 1 : 0) + (a.openmetrics ? 1 : 0) + (a.tensorboard.empty() ? 0 : 1);
  if (forms > 1)
    reading.refuse(base::say("--csv, --openmetrics and --tensorboard are three forms: ask for one at a time"));
  if (!a.tensorboard.empty() && !a.out.empty())
    reading.refuse(base::say("--out is for --csv and --openmetrics; --tensorboard names its folder itself"));
  reading.finish();
  return a;
}

}  // namespace troika::commands
