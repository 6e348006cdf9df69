#include "host/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::host {
namespace {

base::Descriptor open_log(const std::string& path) {
  try {
    return base::open_in_run(path, O_WRONLY | O_CREAT | O_APPEND);
  } catch (const base::DataError& error) {
    throw base::ConfigError(base::text_of(error));
  }
}

}  // namespace

Worker start_worker(const WorkerPlan& plan) {
  Command command{plan.arguments, plan.environment, plan.program};
  command.input = Stream::nothing();
  base::Descriptor log;
  std::int64_t log_start = 0;
  if (!plan.log_path.empty()) {
    log = open_log(plan.log_path);
    log_start = base::file_size(plan.log_path);
    command.output = command.errors = Stream::to(log);
  }
  command.group = Command::Group::own;
  // A scheduler sends these to all processes; they would end a rank that does not listen to them yet.
  command.signals = blocked_alone({SIGUSR1, SIGUSR2});
  command.cores = plan.cores;
  command.signal_at_our_end = SIGKILL;
  return {plan, Subprocess(command), log_start};
}

void signal_worker(const Worker& worker, int signal) { worker.process.send(signal); }

bool reap(Worker& worker) {
  if (worker.ended || !worker.process.ends_within(0)) return false;
  worker.process.send(SIGKILL);  // what it left running in its group
  const End end = worker.process.wait();
  worker.ended = true;
  worker.signal = end.signal;
  worker.exit_code = end.exit_code;
  return true;
}

bool see_stop(Worker& worker) {
  if (worker.ended) return false;
  const int before = worker.stop;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(worker.process.pid()), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
         info.si_pid != 0) {
    worker.stop = info.si_code == CLD_STOPPED ? info.si_status : 0;
    if (worker.stop != 0) worker.stopped_since = base::monotonic_seconds();
    info = {};
  }
  return (worker.stop == 0) != (before == 0);
}

std::string last_lines(const std::string& path, std::int64_t from, int lines) {
  std::string text;
  try {
    const base::MappedFile file(path);
    const std::string_view all = file.text();
    std::size_t begin = all.size();
    const auto start = std::min(static_cast<std::size_t>(from), all.size());
    if (begin > start && all[begin - 1] == '\n') --begin;
    const std::size_t end = begin;
    for (int count = 0; begin > start; --begin) {
      if (all[begin - 1] == '\n' && ++count == lines) break;
    }
    text = std::string(all.substr(begin, end - begin));
  } catch (const base::DataError&) {  // no log, no lines
  }
  return text;
}

}  // namespace troika::host
