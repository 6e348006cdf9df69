// The entry points of the verbs that train, evaluate, plan, measure and look at runs, with their flags for help and completion.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/config.h"

namespace troika::commands {

// `troika train`: returns the exit code: 0, or 130 when the run was interrupted and has saved.
int run_train(const Call& call);

// `troika plan`: the layouts of a training on machines, ranked, with their reasons. The text to print, or one JSON object; writes --write's
// file. ConfigError when no layout fits, with what would.
std::string plan_report(const Call& call);

// `troika eval`: the loss of a model on data. Returns the exit code.
int run_eval(const Call& call);

// The command line of `troika eval`: the settings of train, and these.
struct EvalArguments {
  bool json = false;
  std::string logits;  // a file to write; empty: none
  config::ParsedSettings parsed;
};

config::FlagTable eval_flags(EvalArguments& a);
EvalArguments parse_eval_arguments(const std::vector<std::string>& words, const config::Environment& environment);

struct ProbeArguments {
  std::string out;        // the machine file to write; empty: it is printed
  std::string csv;        // a file of what was timed; empty: none
  double seconds = 12;    // for the kernels of a host; everything else takes some seconds more
  std::string interface;  // of the network; empty: as comm.interface says
};

config::FlagTable probe_flags(ProbeArguments& a);
ProbeArguments parse_probe_arguments(const std::vector<std::string>& words);  // ConfigError

// `troika probe`: measures this host, or as a launched rank the cluster, and writes a machine file.
int run_probe(const Call& call);

// `troika metrics RUN`: the numbers of a run's steps for other programs: a table, Prometheus, TensorBoard. `words`: those after the
// verb. Returns the text to print. ConfigError: malformed arguments, no such run.
std::string metrics_report(const Words& words, base::Language language);
config::FlagTable metrics_flags();

// `troika monitor`: a run as it goes, on a screen, as lines, as text or as JSON. Only reads: whatever becomes of it, the run continues.
// On a terminal until q or Ctrl-C, elsewhere until the run is over. 0. ConfigError: malformed arguments, no run where they say.
int run_monitor(const Call& call);
config::FlagTable monitor_flags();

// `troika serve`: a page to see runs, compare them, start, stop and resume them. Prints the address and serves until a signal asks to
// stop. Runs outlive it. 0. ConfigError: malformed arguments, no such folder, the port is taken.
int run_serve(const Call& call);
config::FlagTable serve_flags();

// `troika timeline RUN_DIR`: what every rank did in a recorded step, as a grid, a table and a file for a trace viewer. Returns the text
// to print. Without --step the newest recorded step; without --grid and --summary both. Reads RUN_DIR/timeline; when the merged file of
// the step is missing, or with --merge, merges the rank files onto rank 0's clock and writes it there.
// ConfigError: malformed arguments, no such run folder, no such step. DataError: a damaged or missing trace file.
std::string timeline_report(const Words& words, base::Language language);
config::FlagTable timeline_flags();

// `troika why RUN_DIR`: why a run failed, is slow or does not learn, and what to change. Returns the text to print. ConfigError:
// malformed arguments, no such folder, or one without anything of a run.
std::string why_report(const Call& call);
config::FlagTable why_flags();

}  // namespace troika::commands
