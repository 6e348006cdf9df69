// One attempt: this host's ranks from start to end, in step with the other hosts through the store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/language.h"
#include "host/signals.h"
#include "host/worker.h"
#include "launch/launch_records.h"
#include "launch/launcher.h"
#include "rendezvous/identity.h"

namespace troika::launch {

struct Outcome {
  int exit_code = 0;   // 0, 130, or the first cause's code
  base::Text text;     // the failure report, which was said when it came; empty when there is none
  base::Text details;  // the last lines of the failed rank's log, ranks that would not end; empty when there are none
  bool stop_requested = false;  // by a signal to the launcher: no restart
  bool store_is_lost = false;   // it had ended, or did not answer
};

// What ranks have after a failure to end by themselves, before SIGTERM and SIGKILL.
struct Grace {
  double terminate_seconds = 3, kill_seconds = 4.5;
};

// Starts the workers and returns when all have ended. `identity` names the store and the generation. When one fails, the
// failure report goes to the store; the others have `grace` to end by themselves (their heartbeat clients tell them); one that survives SIGKILL for 10 s (the kernel keeps it: a disk or driver does not answer) is named and left.
// The first SIGINT, SIGTERM, SIGHUP or SIGUSR2 to the launcher is passed on, every SIGUSR1 too; a second one kills all ranks at once. A store that does not
// answer for `patience_seconds` is gone, which ends the ranks. What happens goes to `records`.
Outcome run_attempt(const std::vector<host::WorkerPlan>& plans, const rendezvous::Identity& identity,
                    double patience_seconds, host::Signals& signals, LaunchRecords& records, const Speaker& speaker,
                    const Grace& grace = {});

}  // namespace troika::launch
