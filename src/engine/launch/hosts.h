// How the launchers of a run's hosts meet, for one attempt after the other, and end together. Host 0 leads: which attempt is due
// and who takes part is kept in its store, so a launcher that was killed and is started again joins the attempt that comes next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/signals.h"
#include "launch/launcher.h"
#include "launch/store_line.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/identity.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/store.h"

namespace troika::launch {

// The hosts that meet, and their patience.
struct HostTeam {
  int nnodes = 1;
  int node_rank = 0;
  Speaker speaker;    // whose command every host has started
  std::string flags;  // that all of them must have been started with
  double join_seconds = 120, heartbeat_seconds = 10;
  double decided_within_seconds = 20;  // host 0's word after an attempt, which it gives when its own ranks have ended
};

// Thrown on host 0 where another host has called all of it off.
struct CalledOff {
  rendezvous::FailureReport report;
};

// Threads: one. Every wait ends with Stopped at a stop signal.
class Hosts {
 public:
  // `identity` names the store; on host 0 its launch too. On other hosts: waits join_seconds for host 0 (PeerError), and
  // ConfigError where host 0 was started with other flags.
  Hosts(HostTeam team, const rendezvous::Identity& identity, host::Signals& signals);

  // Waits until the launchers of all hosts are there for the attempt that is due; returns its identity. On host 0 PeerError names
  // those that did not come within join_seconds, and the number that two launchers have. On others ConfigError when another
  // launcher has this host's number, also where host 0 ends meanwhile and does not come again, and PeerError when host 0 has ended.
  rendezvous::Identity meet();
  std::int64_t attempt() const { return attempt_; }  // that was met for last, from 0

  // After an attempt. Host 0 says whether there is another one, the others hear it: `lost` when host 0 is gone or silent.
  enum class Next { another, end, lost };
  Next part(Next wanted, const Outcome& outcome);
  // The end that host 0 has reported, as this host heard it; nothing before.
  const std::optional<rendezvous::FailureReport>& end() const { return end_; }

  // After `lost`: waits join_seconds for another launch of host 0. Throws as the constructor does.
  void find_again();

  // This launcher ends in an error: the attempt under way ends on all hosts, and a launcher started in its place can join. Never
  // throws.
  void leave(int exit_code, const base::Text& text);

  // On hosts other than 0: the same, and host 0 is to end all. Never throws.
  void call_off(const rendezvous::FailureReport& report);

  StoreLine& line() { return line_; }

 private:
  struct LaunchState {  // what host 0 says
    std::int64_t attempt = -1;
    std::optional<rendezvous::FailureReport> end{};
  };

  bool leads() const { return team_.node_rank == 0; }
  std::string in_launch(const std::string& name) const { return identity_.launch + "/" + name; }
  std::string in_attempt(const std::string& name) const { return rendezvous::key_of(identity_, name); }
  std::string host_key() const;
  void hear_host_0();
  void set_course(const std::string& text);
  LaunchState launch_state();
  void begin_attempt(std::int64_t attempt);
  void lead();
  bool follow();
  [[noreturn]] void throw_missing(const std::vector<base::Text>& names);
  bool wait_for_a_seat();
  std::string refusal_key() const;
  void tell_of_refusal(const rendezvous::LauncherPeer& holder);
  void take_back_refusal();
  void find_another_launch();
  [[noreturn]] void throw_ended(const LaunchState& state);
  base::Text ended_text(const rendezvous::FailureReport& end) const;
  void stop_if_called_off();
  std::optional<rendezvous::LauncherPeer> take_seat();
  bool has_left(const std::string& holder);
  bool has_begun(double seconds, bool* with_me);
  std::vector<base::Text> same_numbers();
  std::vector<base::Text> wrong_secrets(std::uint64_t* since);
  std::vector<base::Text> missing(std::vector<std::string>* tokens);
  void name_rejected();
  void name_wrong_secrets();
  void end_all(int exit_code, const base::Text& text, double patience_seconds);
  Next hear_next(double within_seconds);

  const HostTeam team_;
  rendezvous::Identity identity_;
  host::Signals& signals_;
  rendezvous::LauncherPeer me_ = rendezvous::this_launcher();
  StoreLine line_;
  std::int64_t attempt_ = 0;
  std::optional<rendezvous::FailureReport> end_;
  base::Text in_the_way_;            // who has this launcher's number while it waits for a place; empty: nobody
  base::Text ended_without_me_;      // what the last launch of host 0 ended with, where this host took no part in it
  bool registered_ = false;              // this launcher is that of its host, in this attempt
  bool took_part_ = false;           // in an attempt of this launch
  bool begun_ = false;               // the attempt has, with this host
  std::uint64_t rejected_ = 0;    // version of the store up to which they were named
  std::uint64_t refused_hosts_ = 0;  // the same of those that did not start
  std::uint64_t wrong_secrets_ = 0;  // the same of who had none or another
};

}  // namespace troika::launch
