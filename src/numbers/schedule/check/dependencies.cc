#include "schedule/check/dependencies.h"

#include <array>
#include <set>
#include <utility>

#include "base/say.h"
#include "schedule/check/checker.h"
#include "schedule/instruction/placement.h"

namespace troika::schedule {
namespace {

// Finds who meets whom.
class Meetings {
 public:
  explicit Meetings(const Program& program) : program_(program) {
    for (const auto& instructions : program.ranks) found_.meeting_of.emplace_back(instructions.size(), no_meeting);
    pair_messages();
    group_exchanges();
  }
  Dependencies take() { return std::move(found_); }

 private:
  using Name = std::tuple<Kind, int, int>;  // of a message: kind, microbatch, stage; microbatches are global
  static Name name_of(const Instruction& message) { return {message.kind, message.microbatch, message.stage}; }

  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      for (std::size_t i = 0; i < program_.ranks[rank].size(); ++i) visit(Place{rank, i}, program_.ranks[rank][i]);
    }
  }

  void add(const std::vector<Place>& parties) {
    for (const Place& at : parties) found_.meeting_of[at.rank][at.index] = found_.meetings.size();
    found_.meetings.push_back({parties});
  }

  void pair_messages() {
    std::map<Name, Place> receives;
    each([&](Place at, const Instruction& i) {
      if (traits(i.kind).role != Role::receive) return;
      if (!receives.emplace(name_of(i), at).second) refuse_at(program_, at.rank, at.index, base::say("appears twice"));
    });
    each([&](Place at, const Instruction& i) {
      if (traits(i.kind).role != Role::send) return;
      const auto found = receives.find(name_of(partner_of(i)));
      if (found == receives.end())
        refuse_at(program_, at.rank, at.index, base::say("no rank posts the matching receive"));
      add({at, found->second});
      receives.erase(found);
    });
    if (receives.empty()) return;
    const Place left = receives.begin()->second;
    refuse_at(program_, left.rank, left.index, base::say("no rank sends the matching message"));
  }

  // Kind, round, stage, segment, and what tells groups of ranks with equal names apart.
  using Key = std::tuple<Kind, int, int, int, std::size_t>;

  Key key_of(Place at, const Instruction& i) const {
    const Traits& row = traits(i.kind);
    if (row.role == Role::copy) return {i.kind, -1, i.stage, i.segment, at.rank + 1};
    if (row.peers == Peers::world) return {i.kind, -1, -1, -1, 0};
    if (row.peers == Peers::tied_stages)  // its two ranks name different stages
      return {i.kind, -1, -1, -1, at.rank % static_cast<std::size_t>(program_.dp)};
    return {i.kind, -1, i.stage, i.segment, 0};
  }

  std::size_t parties_of(Kind kind) const {
    const Traits& row = traits(kind);
    if (row.role == Role::copy) return 1;
    if (row.peers == Peers::world) return program_.ranks.size();
    if (row.peers == Peers::tied_stages) return 2;
    return static_cast<std::size_t>(program_.dp);
  }

  // The n-th exchange of a name on one rank meets the n-th on the others.
  void group_exchanges() {
    std::map<std::pair<Key, int>, std::vector<Place>> groups;
    std::map<std::pair<std::size_t, Key>, int> count;
    each([&](Place at, const Instruction& i) {
      if (!is_exchange(i.kind) && traits(i.kind).role != Role::copy) return;
      const Key key = key_of(at, i);
      groups[{key, count[{at.rank, key}]++}].push_back(at);
    });
    for (const auto& [key, places] : groups) {
      const std::size_t wanted = parties_of(std::get<0>(key.first));
      if (places.size() != wanted) {
        refuse_at(program_, places[0].rank, places[0].index,
                  base::say("only {} of its {} ranks take part in it", places.size(), wanted));
      }
      add(places);
    }
  }

  const Program& program_;
  Dependencies found_;
};

// The transfers that one rank has started and not yet waited for.
class Started {
 public:
  explicit Started(const Program& program) : program_(program) {}

  struct Waits {
    std::vector<std::size_t> before, between_halves;
  };
  Waits take_waits(const Instruction& i) {
    Waits waits;
    for (const Awaited& wait : traits(i.kind).waits) {
      const bool between = i.kind == Kind::bwd && wait.scope == Scope::of_microbatch;
      take_wait(i, wait, between ? &waits.between_halves : &waits.before);
    }
    return waits;
  }

  void start(const Instruction& i, std::size_t meeting) {
    if (meeting == no_meeting) return;
    if (is_unanswered(program_, i)) return unanswered_.push_back(meeting);
    of(i.kind)[{i.stage, i.segment, i.microbatch}].push_back(meeting);
  }

 private:
  // Stage, segment (-1: all of the stage), microbatch -> meetings.
  using Transfers = std::map<std::tuple<int, int, int>, std::vector<std::size_t>>;
  Transfers& of(Kind kind) { return started_[static_cast<std::size_t>(kind)]; }

  void take_wait(const Instruction& i, const Awaited& wait, std::vector<std::size_t>* to) {
    Transfers& from = of(wait.kind);
    switch (wait.scope) {
      case Scope::nothing:
        return;
      case Scope::same_pass:
        return take_range(&from, {i.stage, -1, i.microbatch}, {i.stage, -1, i.microbatch}, to);
      case Scope::same_segments:
        return take_segments(&from, i.stage, i.segment, to);
      case Scope::tied_segments:
        return take_tied(&from, i, to);
      case Scope::without_answer:
        if (is_unanswered(program_, i)) take_unanswered(to);
        return;
      case Scope::of_microbatch:
        return take_of_microbatches(&from, to);
      case Scope::all:
        if (wait.kind == Kind::send_act) take_unanswered(to);
        return take_all(&from, to);
    }
  }

  static void take_range(Transfers* from, const Transfers::key_type& first, const Transfers::key_type& last,
                         std::vector<std::size_t>* to) {
    const auto begin = from->lower_bound(first), end = from->upper_bound(last);
    for (auto at = begin; at != end; ++at) to->insert(to->end(), at->second.begin(), at->second.end());
    from->erase(begin, end);
  }

  static void take_all(Transfers* from, std::vector<std::size_t>* to) {
    take_range(from, {-1, -1, -1}, {max_stages, max_segments, max_microbatches}, to);
  }

  static void take_of_microbatches(Transfers* from, std::vector<std::size_t>* to) {
    for (auto at = from->begin(); at != from->end();) {
      const auto& [key, meetings] = *at;
      if (std::get<2>(key) >= 0) {
        to->insert(to->end(), meetings.begin(), meetings.end());
        at = from->erase(at);
      } else {
        ++at;
      }
    }
  }

  // Takes transfers that touch the segment, or the whole stage.
  static void take_segments(Transfers* from, int stage, int segment, std::vector<std::size_t>* to) {
    const int first = segment < 0 ? 0 : segment, last = segment < 0 ? max_segments : segment;
    take_range(from, {stage, first, -1}, {stage, last, max_microbatches}, to);
    take_range(from, {stage, -1, -1}, {stage, -1, max_microbatches}, to);
  }

  void take_tied(Transfers* from, const Instruction& i, std::vector<std::size_t>* to) const {
    const int last = program_.stages() - 1;
    if (i.stage == 0) take_segments(from, 0, 0, to);
    if (i.stage == last || tied_on_one_rank(program_)) take_segments(from, last, program_.segments() - 1, to);
  }

  void take_unanswered(std::vector<std::size_t>* to) {
    to->insert(to->end(), unanswered_.begin(), unanswered_.end());
    unanswered_.clear();
  }

  const Program& program_;
  std::array<Transfers, kind_count> started_;
  std::vector<std::size_t> unanswered_;
};

}  // namespace

Dependencies derive_dependencies(const Program& program) {
  check_fields(program);
  Dependencies result = Meetings(program).take();
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    Started started(program);
    auto &before = result.waits.emplace_back(), &between_halves = result.waits_between_halves.emplace_back();
    for (std::size_t i = 0; i < program.ranks[rank].size(); ++i) {
      Started::Waits waits = started.take_waits(program.ranks[rank][i]);
      before.push_back(std::move(waits.before));
      between_halves.push_back(std::move(waits.between_halves));
      started.start(program.ranks[rank][i], result.meeting_of[rank][i]);
    }
  }
  return result;
}

KnownArrivals::KnownArrivals(const Program& program, int rank) {
  if (program.evaluates()) return;
  std::set<int> peers;
  const int dp_rank = rank % program.dp;
  for (const int stage : stages_of_rank(program, rank)) {
    if (crosses_ranks(program, stage - 1)) peers.insert(program.rank_of_stage(stage - 1, dp_rank));
    if (crosses_ranks(program, stage)) peers.insert(program.rank_of_stage(stage + 1, dp_rank));
  }
  for (const int peer : peers) follow(program, rank, peer);
}

void KnownArrivals::follow(const Program& program, int rank, int peer) {
  const int dp_rank = rank % program.dp;
  const auto here = [&](int stage) {
    return stage >= 0 && stage < program.stages() && program.rank_of_stage(stage, dp_rank) == rank;
  };
  std::vector<Instruction> taken;
  for (const Instruction& i : program.ranks[static_cast<std::size_t>(peer)]) {
    const int m = i.microbatch, s = i.stage;
    if (traits(i.kind).role == Role::send && here(peer_stage(i))) {
      const Instruction receive = partner_of(i);
      std::swap(proven_[{receive.kind, m, receive.stage}], taken);
    }
    if (!is_computation(i.kind)) continue;
    const auto [begin, end] = segments_of(program, i);
    const bool answered = s > 0 && has_backward(program, s - 1);
    if (has_pass(i.kind, forward_pass) && begin == program.first_segment(s) && here(s - 1) && answered)
      taken.push_back({Kind::send_act, m, s - 1});
    if (has_pass(i.kind, input_pass) && end == program.end_segment(s) && here(s + 1))
      taken.push_back({Kind::send_grad, m, s + 1});
  }
}

const std::vector<Instruction>& KnownArrivals::proven_by(const Instruction& receive) const {
  static const std::vector<Instruction> none;
  const auto found = proven_.find({receive.kind, receive.microbatch, receive.stage});
  return found == proven_.end() ? none : found->second;
}

}  // namespace troika::schedule
