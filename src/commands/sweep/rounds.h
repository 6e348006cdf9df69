// The hosts of a sweep in step: host 0 says what is done next, every host does it and tells how that ended. On one host there is
// nobody to tell, and no store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "config/flag_table.h"
#include "config/settings/settings.h"
#include "host/signals.h"
#include "launch/flags.h"
#include "launch/host_store.h"
#include "launch/hosts.h"
#include "launch/launcher.h"
#include "rendezvous/failure_listener.h"
#include "rendezvous/failure_report.h"

namespace troika::commands {

// The data that a host of a sweep needs to run any layout.
struct SweepHost {
  config::Settings settings;  // measuring_settings
  std::int64_t nproc = 1;     // on each host
  launch::HostOptions hosts;
  std::string folder;                      // of this host
  std::optional<double> deadline_seconds;  // unset: by what is predicted
  config::Environment environment;         // of the processes
  std::string troika = "/proc/self/exe";
  std::string program;  // as SweepArguments
  launch::Speaker speaker{"troika sweep"};

  std::int64_t world() const { return nproc * hosts.nnodes; }
};

inline constexpr base::Phrase stop_reason = base::Phrase("a signal asked the sweep to stop");

// Threads: one. Every wait ends with Stopped at a stop signal.
class SweepRounds {
 public:
  // Host 0 of several serves a store on --master-port, and sees that the next port is free for the layouts' own (ConfigError);
  // the others wait for it, as Hosts does. `host` and `signals` outlive it.
  SweepRounds(const SweepHost& host, host::Signals& signals);

  // Host 0. Returns when all hosts are there and hear `task`. PeerError names those that do not come; CalledOff where one asks all
  // to end.
  void begin(const std::string& task);
  // Other hosts. What host 0 says is next; nothing when it has ended. PeerError when it is gone.
  std::optional<std::string> next();

  // Why the round is over before its end here, if it is: it has failed on another host, which is named; one was asked to stop
  // (exit code 130); host 0 is gone. Does not wait.
  std::optional<rendezvous::FailureReport> over() const;
  // Ends the round on all hosts, if one is under way. An earlier failure report is kept.
  void fail(const rendezvous::FailureReport& report);
  // Tells host 0 how this host's part ended. On host 0: waits for what the others tell, and returns it by host; one that is not
  // there has left or is silent.
  std::map<int, std::string> finish(const std::string& answer);

  // Host 0: the sweep has ended, and on the other hosts it does with this code. Never throws.
  void end(const rendezvous::FailureReport& report);
  // Other hosts: this one ends, and all are to. Never throws.
  void call_off(const rendezvous::FailureReport& report);
  // Other hosts: what host 0 has ended with; code 75 where it did not say.
  rendezvous::FailureReport ended_with() const;

 private:
  std::string in_round(const std::string& name) const { return rendezvous::key_of(round_, name); }
  void meet();
  bool has(const std::string& name, std::string* text);
  std::map<int, std::string> collect();
  [[noreturn]] void lose_host_0() const;

  const SweepHost& host_;
  host::Signals& signals_;
  std::optional<launch::HostStore> store_;
  std::unique_ptr<launch::Hosts> hosts_;  // null: one host
  rendezvous::Identity round_;
  std::unique_ptr<rendezvous::FailureListener> listener_;
  std::int64_t rounds_ = 0;
};

}  // namespace troika::commands
