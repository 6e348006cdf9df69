// One rank's process and its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/language.h"
#include "host/subprocess.h"

namespace troika::host {

// --lang for a process that is to speak the same.
inline std::vector<std::string> language_flag(base::Language language) {
  return {"--lang", language == base::Language::chinese ? "zh" : "en"};
}

struct WorkerPlan {
  int world_rank = 0;
  std::string program;
  std::vector<std::string> arguments;  // with argv[0]
  std::map<std::string, std::string> environment;
  std::string log_path;    // "": the launcher's own output
  std::vector<int> cores;  // it may run on; empty: those of the launcher
};

struct Worker {
  WorkerPlan plan;
  Subprocess process;
  std::int64_t log_start = 0;  // where this attempt's output begins in the log
  bool ended = false;
  int exit_code = 0;         // when it ended by itself
  int signal = 0;            // when it was killed
  int stop = 0;              // the signal that stopped it, while it is stopped; 0: it runs
  double stopped_since = 0;  // base::monotonic_seconds()
  bool paused = false;       // by its launcher, which was paused itself
};

// The child leads a process group of its own (the terminal's Ctrl-C reaches only the launcher, which forwards it once), reads
// nothing from the terminal, has SIGUSR1 and SIGUSR2 alone blocked and no signal ignored, and dies with the launcher. Throws ConfigError when the
// program cannot be started.
Worker start_worker(const WorkerPlan& plan);

// Signals the worker's process group; nothing when it has ended.
void signal_worker(const Worker& worker, int signal);

// Takes note of the end if the process has ended, without waiting. True when it ended now.
bool reap(Worker& worker);

// Takes note of whether a signal has stopped the process or lets it continue, without waiting. True when that has changed.
bool see_stop(Worker& worker);

// The last `lines` lines of `path` behind byte `from`.
std::string last_lines(const std::string& path, std::int64_t from, int lines);

}  // namespace troika::host
