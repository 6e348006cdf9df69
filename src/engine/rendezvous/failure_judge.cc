#include "rendezvous/failure_judge.h"

#include <algorithm>

namespace troika::rendezvous {

static constexpr double consequence_seconds = 1;     // how long such a one waits for its cause
static constexpr double ranks_follow_seconds = 0.3;  // a launcher's ranks, which may just have ended well
static constexpr double return_seconds = 2;          // by then a rank that lives has opened another connection
static constexpr double last_beat_seconds = 2.5;  // by then a rank that lives has sent another heartbeat (one a second)

void FailureJudge::joined(int rank, const Peer& peer, double now) {
  Rank& state = ranks_[rank];
  state.peer = peer;
  state.joined = true;
  if (state.beats) return;
  state.since = now;
  state.heartbeat.limit_seconds = peer.limit_seconds;
}

void FailureJudge::heard(int rank, const Heartbeat& heartbeat, double now) {
  Rank& state = ranks_[rank];
  state.heartbeat = heartbeat;
  state.beats = true;
  state.since = now;
}

void FailureJudge::left(int rank, std::int64_t connection, double now) {
  if (connection <= ranks_[rank].left_connection) return;
  ranks_[rank].left_connection = connection;
  ranks_[rank].left_since = now;
}

void FailureJudge::failed(int rank, const FailureReport& report) {
  ranks_[rank].ended = true;
  const auto known =
      std::find_if(failures_.begin(), failures_.end(), [&](const auto& entry) { return entry.first == rank; });
  if (known == failures_.end()) failures_.emplace_back(rank, report);
}

records::Party FailureJudge::party(int rank) const {
  const Rank& state = ranks_.at(rank);
  return party_of(rank, state.joined ? state.peer : Peer{});
}

std::optional<FailureReport> FailureJudge::judge(double now) {
  const double pause = last_judged_ ? now - *last_judged_ - period_seconds_ : 0;
  for (auto& [rank, state] : ranks_) {
    if (pause > state.heartbeat.limit_seconds / 4) state.since = now;
    if (pause > return_seconds / 4) state.left_since = now;
  }
  for (auto& [node, launcher] : left_launchers_)
    if (pause > ranks_follow_seconds) launcher.since = now;
  last_judged_ = now;
  auto report = judge_failures(now);
  if (!report) report = judge_launchers(now);
  if (!report) report = judge_leavers(now);
  if (!report) report = judge_silence(now);
  return report;
}

static FailureReport of_peer(records::IncidentKind kind, const records::Party& who) {
  records::Incident incident;
  incident.kind = kind;
  incident.who = who;
  return {base::exit_peer_lost, incident};
}

static FailureReport without_a_word(const records::Party& who) {
  return of_peer(records::IncidentKind::rank_left, who);
}

static FailureReport in_its_words(const records::Party& who, const FailureReport& said) {
  return {said.exit_code, records::failed(who, said.said(), said.incident.cause)};
}

std::optional<FailureReport> FailureJudge::judge_launchers(double now) const {
  for (const auto& [node, launcher] : left_launchers_) {
    if (now - launcher.since < ranks_follow_seconds) continue;
    bool came = false, at_work = false;
    for (const auto& [rank, state] : ranks_) {
      if (!state.joined || state.peer.node_rank != node) continue;
      came = true;
      at_work = at_work || !state.ended;
    }
    if (came && !at_work) continue;
    return of_peer(records::IncidentKind::launcher_left, launcher.who);
  }
  return std::nullopt;
}

std::optional<FailureReport> FailureJudge::judge_leavers(double now) const {
  for (const auto& [rank, state] : ranks_) {
    if (state.ended || !state.left() || now - state.left_since < return_seconds) continue;
    return without_a_word(party(rank));
  }
  return std::nullopt;
}

std::optional<FailureReport> FailureJudge::judge_failures(double now) {
  if (failures_.empty()) return std::nullopt;
  const auto cause = std::find_if(failures_.begin(), failures_.end(),
                                  [](const auto& failure) { return failure.second.exit_code != base::exit_peer_lost; });
  if (cause == failures_.end()) return judge_consequence(failures_.front().first, failures_.front().second, now);
  return in_its_words(party(cause->first), cause->second);
}

// All failures are broken connections. A rank that says nothing any more is why; else the first that failed is named.
std::optional<FailureReport> FailureJudge::judge_consequence(int rank, const FailureReport& failure, double now) {
  if (!first_consequence_) first_consequence_ = now;
  const double passed = now - *first_consequence_;
  if (passed < consequence_seconds) return std::nullopt;
  const auto leaver = std::find_if(ranks_.begin(), ranks_.end(),
                                   [](const auto& entry) { return !entry.second.ended && entry.second.left(); });
  if (leaver != ranks_.end()) return std::nullopt;  // judge_leavers names it, unless it comes back
  const auto unheard = std::find_if(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
    return entry.second.is_expected() && entry.second.since < *first_consequence_;
  });
  if (unheard == ranks_.end()) return in_its_words(party(rank), failure);
  if (passed < last_beat_seconds) return std::nullopt;
  return without_a_word(party(unheard->first));
}

std::optional<FailureReport> FailureJudge::judge_silence(double now) const {
  for (const auto& [rank, state] : ranks_) {
    const Heartbeat& last = state.heartbeat;
    if (!state.is_expected() || now - state.since <= last.limit_seconds) continue;
    FailureReport report = of_peer(records::IncidentKind::rank_silent, party(rank));
    report.incident.place = last.place;
    report.incident.limit_seconds = last.limit_seconds;
    report.incident.unheard = !state.beats;
    report.incident.stopped = state.stopped == StoppedRank::State::stopped;
    return report;
  }
  return std::nullopt;
}

}  // namespace troika::rendezvous
