// Finds the rank that failed first, from heartbeats and exits, never from a connection's error text. It has no store, clock or
// threads: it is told what was heard and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rendezvous/heartbeat.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/launcher_peer.h"

namespace troika::rendezvous {

class FailureJudge {
 public:
  // `period_seconds`: how often judge() is called. A longer pause is the judge's own (a suspended laptop) and says nothing
  // about the ranks.
  explicit FailureJudge(double period_seconds) : period_seconds_(period_seconds) {}

  // A rank's entries in the store. `now` is when they were seen; it never falls.
  void joined(int rank, const Peer& peer, double now);
  void heard(int rank, const Heartbeat& heartbeat, double now);
  // It ended this connection, or the system for it; a rank that lives opens another one and is heard again. In any order.
  void left(int rank, std::int64_t connection, double now);
  // The launcher of a host was ended by the system, and its ranks end with it.
  void launcher_left(const records::Party& launcher, double now) {
    left_launchers_.insert({launcher.node, {launcher, now}});
  }
  // As its launcher sees it.
  void stopped(int rank, StoppedRank::State state) { ranks_[rank].stopped = state; }
  void done(int rank) { ranks_[rank].ended = true; }
  void failed(int rank, const FailureReport& report);

  // A report when a rank that joined is silent for longer than its limit, has failed, or has left without a word. A failure
  // with exit code 75 (a peer or the network) may be the consequence of another, so a second passes for a better cause; a rank
  // that has left, or else become silent meanwhile without a word, is named.
  std::optional<FailureReport> judge(double now);

 private:
  struct Rank {
    Peer peer;
    Heartbeat heartbeat;
    double since = 0;  // last heard
    std::int64_t left_connection = -1;
    double left_since = 0;
    bool left() const { return left_connection >= heartbeat.connection; }
    StoppedRank::State stopped = StoppedRank::State::runs;
    bool beats = false, joined = false, ended = false;
    bool is_expected() const { return (joined || beats) && !ended; }  // to be heard
  };

  std::optional<FailureReport> judge_failures(double now);
  std::optional<FailureReport> judge_consequence(int rank, const FailureReport& failure, double now);
  std::optional<FailureReport> judge_launchers(double now) const;
  std::optional<FailureReport> judge_leavers(double now) const;
  std::optional<FailureReport> judge_silence(double now) const;
  records::Party party(int rank) const;

  const double period_seconds_;
  struct LeftLauncher {
    records::Party who;
    double since = 0;
  };

  std::map<int, Rank> ranks_;
  std::map<int, LeftLauncher> left_launchers_;           // by the number of its host
  std::vector<std::pair<int, FailureReport>> failures_;  // in the order in which they were heard of
  std::optional<double> first_consequence_;              // when a failure with code 75 was first seen
  std::optional<double> last_judged_;
};

}  // namespace troika::rendezvous
