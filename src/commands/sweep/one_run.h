// One command as processes of its own, ended at a deadline, with nothing left behind.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "host/signals.h"

namespace troika::commands {

struct OneRun {
  std::string program;
  std::vector<std::string> arguments;  // with argv[0]
  std::map<std::string, std::string> environment;
  std::string log_path;      // of what it says; its folder is there
  std::string logs_folder;   // of the ranks that it starts; "": none
  std::string failure_file;  // why it ends in an error (commands/cli.h)
  double deadline_seconds = 0;
};

// The decision about a run under way.
enum class RunGoes { on, to_its_end };

struct OneRunEnd {
  enum class Cause { by_itself, deadline, stop_signal, asked } cause = Cause::by_itself;
  int exit_code = 0;  // where it ended by itself, without a signal
  int signal = 0;     // that killed it
  double seconds = 0;
};

// Starts the program in a process group of its own and returns when it has ended. At the deadline, when `signals` hears one that
// asks to stop, or when `each_moment` says so, it gets SIGTERM, after 3 s another, and after 3 more SIGKILL; it is also killed when
// this process dies. What it started and left behind is killed before the return, too (so this process must have no other children
// meanwhile). `each_moment` is called about ten times a second with the seconds since the start. ConfigError when the program
// cannot be started.
OneRunEnd run_one(const OneRun& run, host::Signals& signals, const std::function<RunGoes(double)>& each_moment);

// Why it did not end well: as its failure file has it, with the last line of the rank's log where that is not Troika's own; how it ended
// where there is no such file. One line of at most 400 bytes.
base::Text reason_of(const OneRunEnd& end, const OneRun& run);
base::Text one_line(const base::Text& lines);

}  // namespace troika::commands
