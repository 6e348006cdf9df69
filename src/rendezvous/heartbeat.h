// The heartbeat of a rank: says that it lives and where it is, and hears when the attempt has failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// Writes a heartbeat to the store every heartbeat_seconds / 5, at least once a second, from a thread and a connection of its own.
class HeartbeatClient {
 public:
  // `on_failure(text)` is called once, from the client's thread or here, when a failure report is there or the store has been gone for
  // `heartbeat_seconds`; it must not call the client. Throws PeerError when the store cannot be reached.
  HeartbeatClient(const Identity& identity, double heartbeat_seconds,
                  std::function<void(const std::string&)> on_failure);
  ~HeartbeatClient();  // the heartbeats stop; without done() or failed() before, the FailureMonitor takes the rank for dead
  HeartbeatClient(const HeartbeatClient&) = delete;
  HeartbeatClient& operator=(const HeartbeatClient&) = delete;

  // Where the rank is; shown when it falls silent. From one thread, cheap (a lock that is free, a copy of the text). A call
  // that reaches step 0 or the first step returns when the store has heard it or cannot be reached: a rank that is not known
  // to have begun has not begun.
  void at(std::int64_t step, const std::string& instruction);

  // This rank ends well, or failed with this error; the heartbeats stop. After failed() a failure report is still heard of. A
  // store that is gone is no error here.
  void done();
  void failed(int exit_code, const std::string& text);

  // The text of the failure report, "" while there is none; from any thread.
  std::string failure_report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
