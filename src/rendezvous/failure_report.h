// Why an attempt ends: one failure report, written to the store once by the launcher or the failure monitor. The first one
// stands. Which rank failed first is found from heartbeats and exits, never from a connection's error text.
#pragma once

#include <memory>
#include <string>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

struct FailureReport {
  int exit_code = 75;  // of the first cause
  std::string text;    // one sentence that names the failed rank
};

// Returns the report that stands: this one, or an earlier one.
FailureReport write_failure_report(StoreClient& client, const Identity& identity, const FailureReport& report);
bool read_failure_report(StoreClient& client, const Identity& identity, FailureReport* report);  // false: there is none

// The form in the store: the code, a newline, the text. Also used for failed/<rank>.
std::string to_text(const FailureReport& report);
FailureReport parse_failure_report(const std::string& text);

// Reads all heartbeats where the store is hosted. Writes the failure report when a rank that has sent a heartbeat is silent for
// longer than its `heartbeat_seconds`, or has failed. A failure with exit code 75 (a peer or the network) may be the
// consequence of another, so the monitor waits a second for a better cause; when the heartbeats of a rank have stopped
// meanwhile without done() or failed(), that rank is named.
class FailureMonitor {
 public:
  // Connects to the store that `identity` names; its world_rank is not used.
  explicit FailureMonitor(const Identity& identity);
  ~FailureMonitor();
  FailureMonitor(const FailureMonitor&) = delete;
  FailureMonitor& operator=(const FailureMonitor&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
