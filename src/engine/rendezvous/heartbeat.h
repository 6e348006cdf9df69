// The heartbeat of a rank: says that it lives and where it is, and hears who is behind and when the attempt has failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "records/health.h"
#include "records/place.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// A checkpoint that is written beside training. Seconds are by the rank's own clock.
struct Save {
  std::int64_t step = -1;    // of the checkpoint; -1: none is being written, or its writing waits for other ranks
  std::string folder;        // as this rank names it
  double seconds = 0;        // nothing has been written, nor has a wait for another rank ended
  double usual_seconds = 0;  // the median of the longest such time of the last saves; 0: not known
  bool awaited = false;      // the rank does nothing else meanwhile: its place tells
};

struct Heartbeat {
  std::int64_t count = 0;
  double limit_seconds = 10;    // silent for longer, the rank is taken for dead
  std::int64_t connection = 0;  // which one of this rank's it came over, from 1
  records::Place place{};
  double stand_limit_seconds = 1800;  // at one place for longer while others wait, the rank is taken for hung
  records::Pace pace{};
  Save save{};
};

std::string to_text(const Heartbeat& heartbeat);
Heartbeat parse_heartbeat(const std::string& text);  // malformed: the defaults' limits, and no place

// A rank's reports on itself, and its reactions to others'. Called from the client's thread, or from that of the client's owner
// in its constructor; none may call the client or wait for long, because meanwhile the rank is silent. Any may be empty.
struct Heartbeats {
  double limit_seconds = 10;              // silent for longer, the rank is taken for dead
  double stand_limit_seconds = 1800;      // at one place for longer while others wait, it is taken for hung
  std::function<records::Place()> place;  // before each
  std::function<records::Pace()> pace;
  std::function<Save()> save;
  std::function<void(const records::Incident& notice)> on_notice;  // who is behind or slow; each once
  // Once: a failure report is there, or the store has been gone for `limit_seconds`.
  std::function<void(const records::Incident& failure)> on_failure;
};

// Writes a heartbeat to the store every limit_seconds / 5, at least once a second, from a thread and a connection of its own.
class HeartbeatClient {
 public:
  // Throws PeerError when the store cannot be reached.
  HeartbeatClient(const Identity& identity, Heartbeats heartbeats);
  ~HeartbeatClient();  // the heartbeats stop; without done() or failed() before, the FailureMonitor takes the rank for dead
  HeartbeatClient(const HeartbeatClient&) = delete;
  HeartbeatClient& operator=(const HeartbeatClient&) = delete;

  // A heartbeat now: returns when the store has heard it or cannot be reached.
  void beat();

  // This rank ends well, or failed with this error; the heartbeats stop. After failed() a failure report is still heard of. A
  // store that is gone is no error here.
  void done();
  void failed(const FailureReport& report);

  // The text of the failure report, empty while there is none; from any thread.
  base::Text failure_report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
