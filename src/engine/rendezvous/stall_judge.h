// Finds the rank that holds the others up, from the reports of all. It knows no store, no clock and no threads: it is told
// what was heard and when. Ages are as the ranks gave them, so clocks and late messages make none older.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rendezvous/heartbeat.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/launcher_peer.h"

namespace troika::rendezvous {

// A rank is behind when it has worked at one thing for longer than 5 s and twice what is usual (without a usual time: 8 s;
// before the first step: 30 s), when ranks wait for one another in a circle for so long, or when others wait for one that has
// not been heard for 5 s. Who waits for a rank that waits is held up by what that one waits for.
class StallJudge {
 public:
  // `period_seconds`: how often judge() is called. A longer pause is the judge's own: it makes no rank silent, and as ranks may have been
  // paused with it (Ctrl-Z), it does not count towards their time at one place.
  explicit StallJudge(double period_seconds) : period_seconds_(period_seconds) {}

  // A rank's entries in the store. `now` is when they were seen; it never falls.
  void joined(int rank, const Peer& peer) { ranks_[rank].peer = peer; }
  void heard(int rank, const Heartbeat& heartbeat, double now);
  // As its launcher sees it, which says so itself.
  void stopped(int rank, StoppedRank::State state) { ranks_[rank].stopped = state; }
  void ended(int rank) { ranks_[rank].ended = true; }  // well or not

  struct Findings {
    std::vector<records::Incident> notices;  // to be said once: who is behind, or is no more
    std::optional<FailureReport> report;     // a rank has stood still for longer than its limit while others wait
  };
  Findings judge(double now);

 private:
  struct Rank {
    std::optional<Peer> peer;
    Heartbeat beat;
    double since = 0;            // last heard
    records::Place paused_at{};  // where it stood in the last pause,
    double paused_seconds = 0;   // of which so much does not count; 0: it has moved since
    StoppedRank::State stopped = StoppedRank::State::runs;
    bool beats = false, ended = false;
  };
  struct Spell {  // of the rank that was named
    int rank = 0;
    double began = 0;
    bool silent = false;  // when it was named
  };
  void excuse(Rank& state, double pause, double now);
  using Waiters = std::map<int, int>;  // by the rank that holds them up

  bool lives(const Rank& state) const { return state.beats && !state.ended; }
  bool is_silent(const Rank& state, double now) const;
  bool is_overdue(const Rank& state) const;
  // Works or is silent, for too long.
  bool holds(const Rank& state, double now) const;
  // Ranks that live and wait; a silent rank counts as one that does not wait.
  records::Waiting waiting(double now) const;
  int first_of_circle(const std::vector<int>& circle) const;
  Waiters find_waiters(double now) const;
  bool is_said_by_others(int rank, double now, int waiting) const;
  int most_behind(const Waiters& waiters) const;
  bool nobody_moves(double now) const;
  double began(const Rank& state) const { return state.since - state.beat.place.seconds; }

  records::Party party(int rank) const;
  records::Incident notice_of(int rank, const Waiters& waiters, double now) const;
  std::optional<FailureReport> hung(int rank, const Waiters& waiters, double now) const;

  const double period_seconds_;
  std::map<int, Rank> ranks_;
  std::optional<Spell> spell_;
  std::optional<double> last_judged_;
};

}  // namespace troika::rendezvous
