#include "rendezvous/stall_judge.h"

#include <algorithm>
#include <tuple>

namespace troika::rendezvous {

static constexpr double quiet_seconds = 5;
static constexpr double alike_seconds = 2;  // ranks that stopped within so much of one another stopped together

static bool is_same_stand(const records::Place& a, const records::Place& b) {
  return a.step == b.step && a.at == b.at && a.waits_for == b.waits_for;
}

void StallJudge::heard(int rank, const Heartbeat& heartbeat, double now) {
  Rank& state = ranks_[rank];
  state.beat = heartbeat;
  state.beats = true;
  state.since = now;
  if (state.paused_seconds == 0) return;
  if (!is_same_stand(state.paused_at, heartbeat.place)) state.paused_seconds = 0;
  state.beat.place.seconds = std::max(0.0, heartbeat.place.seconds - state.paused_seconds);
}

void StallJudge::excuse(Rank& state, double pause, double now) {
  state.since = now;
  if (!is_same_stand(state.paused_at, state.beat.place)) state.paused_seconds = 0;
  state.paused_at = state.beat.place;
  state.paused_seconds += pause;
  state.beat.place.seconds = std::max(0.0, state.beat.place.seconds - pause);
}

bool StallJudge::is_silent(const Rank& state, double now) const {
  return lives(state) && now - state.since > quiet_seconds;
}

static double patience_with(const records::Place& place) {
  constexpr double before_first_step = 30, unknown = 8, known = 5, times_usual = 2;
  if (place.step < 1) return before_first_step;
  return place.usual_seconds > 0 ? known + times_usual * place.usual_seconds : unknown;
}

bool StallJudge::is_overdue(const Rank& state) const {
  return lives(state) && state.beat.place.seconds > patience_with(state.beat.place);
}

bool StallJudge::holds(const Rank& state, double now) const {
  return is_silent(state, now) || (is_overdue(state) && state.beat.place.waits_for == records::waits_for_nobody);
}

// The one that is least far: the others of the circle wait for what it has not done.
int StallJudge::first_of_circle(const std::vector<int>& circle) const {
  if (spell_ && std::find(circle.begin(), circle.end(), spell_->rank) != circle.end()) return spell_->rank;
  return *std::min_element(circle.begin(), circle.end(), [&](int a, int b) {
    return std::tuple(ranks_.at(a).beat.place.step, a) < std::tuple(ranks_.at(b).beat.place.step, b);
  });
}

records::Waiting StallJudge::waiting(double now) const {
  records::Waiting all;
  for (const auto& [rank, state] : ranks_)
    if (lives(state)) all[rank] = is_silent(state, now) ? records::waits_for_nobody : state.beat.place.waits_for;
  return all;
}

// Finds the ranks that are behind, and how many wait for each.
StallJudge::Waiters StallJudge::find_waiters(double now) const {
  Waiters waiters;
  bool circles = false;
  for (const auto& [rank, state] : ranks_) {
    if (holds(state, now)) waiters[rank] = 0;
    circles = circles || (is_overdue(state) && state.beat.place.waits_for >= 0);
  }
  if (waiters.empty() && !circles) return waiters;
  const records::Waiting all = waiting(now);
  std::map<int, int> ends;  // by the rank at which a chain begins; -1: at a rank that is not behind, or nobody knows
  const auto end_from = [&](int rank) {
    if (const auto next = ends.find(all.at(rank)); next != ends.end()) return next->second;
    const records::Chain chain = records::chain_from(rank, all);
    if (!chain.known) return -1;
    const auto waits_long = [&](int other) { return is_overdue(ranks_.at(other)); };
    if (!chain.circle.empty())
      return std::all_of(chain.circle.begin(), chain.circle.end(), waits_long) ? first_of_circle(chain.circle) : -1;
    return waiters.count(chain.ranks.back()) > 0 ? chain.ranks.back() : -1;
  };
  int for_some = 0;
  for (const auto& [rank, state] : ranks_) {
    if (!lives(state) || holds(state, now) || state.beat.place.waits_for == records::waits_for_nobody) continue;
    if (state.beat.place.waits_for == records::waits_for_others) {
      ++for_some;
      continue;
    }
    const int end = ends[rank] = end_from(rank);
    if (end >= 0) waiters[end] += end == rank ? 0 : 1;
  }
  for (auto& [rank, count] : waiters) count += for_some;
  for (auto at = waiters.begin(); at != waiters.end();)
    at = is_said_by_others(at->first, now, at->second) ? waiters.erase(at) : std::next(at);
  return waiters;
}

// A process that sleeps while nobody waits for it is the matter of those who judge silence; one that is stopped, of its launcher.
bool StallJudge::is_said_by_others(int rank, double now, int waiting) const {
  const Rank& state = ranks_.at(rank);
  if (waiting == 0 && is_silent(state, now)) return true;
  return state.stopped == StoppedRank::State::stopped && !(spell_ && spell_->rank == rank);
}

// The one that was named as long as it is behind; else the one that most wait for, that stopped first.
int StallJudge::most_behind(const Waiters& waiters) const {
  if (spell_ && waiters.count(spell_->rank) > 0) return spell_->rank;
  int best = -1;
  for (const auto& [rank, count] : waiters) {
    const bool more = best < 0 || count > waiters.at(best);
    const bool earlier =
        best >= 0 && count == waiters.at(best) && began(ranks_.at(rank)) < began(ranks_.at(best)) - alike_seconds;
    if (more || earlier) best = rank;
  }
  return best;
}

bool StallJudge::nobody_moves(double now) const {
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
    return !lives(entry.second) || is_overdue(entry.second) || is_silent(entry.second, now);
  });
}

records::Party StallJudge::party(int rank) const {
  const auto found = ranks_.find(rank);
  return party_of(rank, found != ranks_.end() && found->second.peer ? *found->second.peer : Peer{});
}

records::Incident StallJudge::notice_of(int rank, const Waiters& waiters, double now) const {
  const Rank& state = ranks_.at(rank);
  records::Incident notice;
  notice.who = party(rank);
  notice.place = state.beat.place;
  notice.waiting = waiters.at(rank);
  notice.others = static_cast<int>(waiters.size()) - 1;
  if (is_silent(state, now)) {
    notice.kind = records::IncidentKind::rank_unheard;
    notice.seconds = now - state.since;
    return notice;
  }
  notice.kind = records::IncidentKind::rank_behind;
  const int other = state.beat.place.waits_for;
  if (other < 0) return notice;
  notice.peer = party(other);
  const auto peer = ranks_.find(other);
  notice.by_way_of_others = peer == ranks_.end() || peer->second.beat.place.waits_for != rank;
  return notice;
}

std::optional<FailureReport> StallJudge::hung(int rank, const Waiters& waiters, double now) const {
  const Rank& state = ranks_.at(rank);
  const Heartbeat& beat = state.beat;
  if (is_silent(state, now) || beat.place.step < 1 || beat.place.seconds <= beat.stand_limit_seconds)
    return std::nullopt;
  if (waiters.at(rank) == 0 && !nobody_moves(now)) return std::nullopt;
  FailureReport report(base::exit_peer_lost, notice_of(rank, waiters, now));
  report.incident.kind = records::IncidentKind::rank_hung;
  report.incident.limit_seconds = beat.stand_limit_seconds;
  return report;
}

StallJudge::Findings StallJudge::judge(double now) {
  const double pause = last_judged_ ? now - *last_judged_ - period_seconds_ : 0;
  if (pause > quiet_seconds / 4)
    for (auto& [rank, state] : ranks_) excuse(state, pause, now);
  last_judged_ = now;
  Findings findings;
  const Waiters waiters = find_waiters(now);
  if (spell_ && waiters.count(spell_->rank) == 0) {
    if (lives(ranks_.at(spell_->rank))) {
      records::Incident over;
      over.kind = records::IncidentKind::rank_continues;
      over.who = party(spell_->rank);
      over.seconds = now - spell_->began;
      findings.notices.push_back(over);
    }
    spell_.reset();
  }
  if (waiters.empty()) return findings;
  const int rank = most_behind(waiters);
  const Rank& state = ranks_.at(rank);
  const bool silent = is_silent(state, now);
  const bool heard_again = spell_ && spell_->silent && !silent;  // and behind all the same
  if (!spell_ || heard_again) {
    spell_ = Spell{rank, silent ? state.since : began(state), silent};
    findings.notices.push_back(notice_of(rank, waiters, now));
  }
  findings.report = hung(rank, waiters, now);
  for (auto other = waiters.begin(); other != waiters.end() && !findings.report; ++other)
    findings.report = hung(other->first, waiters, now);
  return findings;
}

}  // namespace troika::rendezvous
