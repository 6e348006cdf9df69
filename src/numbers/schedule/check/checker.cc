#include "schedule/check/checker.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "base/say.h"
#include "schedule/check/in_flight.h"
#include "schedule/check/pass_record.h"
#include "schedule/instruction/placement.h"
#include "schedule/simulate/simulator.h"

namespace troika::schedule {

void refuse_at(const Program& program, std::size_t rank, std::size_t index, const base::Text& reason) {
  throw UnsoundProgram(base::say("step program, grid rank {}, instruction {} '{}': {}", rank, index,
                                 to_text(program.ranks[rank][index]), reason));
}
namespace {

void check_bounds(const Program& program, const Bounds& bounds) {
  const auto fits = [](std::size_t size, std::size_t wanted) { return size == 0 || size == wanted; };
  const auto segments = static_cast<std::size_t>(program.segments());
  if (fits(bounds.max_in_flight.size(), program.ranks.size()) && fits(bounds.saved_bytes.size(), segments) &&
      fits(bounds.half_bytes.size(), segments) && fits(bounds.kept_bytes.size(), segments) &&
      fits(bounds.parameter_bytes.size(), segments)) {
    return;
  }
  throw base::BugError(
      fmt::format("step program: bounds are for {} ranks and {}, {}, {} and {} segments, but the program has {} and {}",
                  bounds.max_in_flight.size(), bounds.saved_bytes.size(), bounds.half_bytes.size(),
                  bounds.kept_bytes.size(), bounds.parameter_bytes.size(), program.ranks.size(), segments));
}

void measure(const Program& program, const Bounds& bounds, std::size_t rank, Report* report) {
  InFlight in_flight(program, bounds, static_cast<int>(rank));
  for (std::size_t i = 0; i < program.ranks[rank].size(); ++i) {
    in_flight.visit(program.ranks[rank][i]);
    if (bounds.max_in_flight.empty() || in_flight.peak_count() <= bounds.max_in_flight[rank]) continue;
    refuse_at(program, rank, i,
              base::say("{} microbatches are in flight, but the schedule promises at most {}", in_flight.peak_count(),
                        bounds.max_in_flight[rank]));
  }
  report->max_in_flight.push_back(in_flight.peak_count());
  report->peak_activation_bytes.push_back(in_flight.peak_bytes());
  report->peak_gathered_bytes.push_back(in_flight.peak_gathered_bytes());
}

std::vector<std::size_t> exchanges_of(const std::vector<Instruction>& rank) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    if (traits(rank[i].kind).peers == Peers::replicas) places.push_back(i);
  }
  return places;
}

bool may_meet(const Instruction& a, const Instruction& b) {
  return (a.microbatch < 0) == (b.microbatch < 0) && a.kind == b.kind && a.stage == b.stage && a.segment == b.segment;
}

void compare_exchanges(const Program& program, std::size_t first, std::size_t rank) {
  const auto theirs = exchanges_of(program.ranks[first]), mine = exchanges_of(program.ranks[rank]);
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const Instruction& other = program.ranks[first][theirs[k]];
    if (may_meet(other, program.ranks[rank][mine[k]])) continue;
    refuse_at(program, rank, mine[k],
              base::say("comes where grid rank {} has '{}'; exchanges must come in one order", first, to_text(other)));
  }
}

// Replicas talk over one channel, where what is started first meets what is started first.
void check_exchange_order(const Program& program) {
  const auto dp = static_cast<std::size_t>(program.dp);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    if (rank % dp != 0) compare_exchanges(program, rank - rank % dp, rank);
  }
}

}  // namespace

Report check(const Program& program, const Bounds& bounds) {
  check_fields(program);
  check_bounds(program, bounds);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) check_rank(program, static_cast<int>(rank));
  simulate(program, CostModel{});  // pairs all messages and exchanges, and runs into every deadlock
  check_exchange_order(program);
  Report report;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) measure(program, bounds, rank, &report);
  return report;
}

namespace {

base::Text wrong_number(base::Phrase what, int value, int most) {
  if (value >= 1 && value <= most) return {};
  return base::say("{} must be from 1 to {}, not {}", base::say(what), most, value);
}

base::Text wrong_shares(const Program& p) {
  if (p.shares.empty() && p.microbatches % p.dp != 0)
    return base::say("{} microbatches do not divide over dp {}", p.microbatches, p.dp);
  if (p.shares.empty()) return {};
  std::int64_t sum = 0;
  for (const int share : p.shares) {
    if (share < 1) return base::say("every share must have a microbatch");
    sum += share;
  }
  if (p.shares.size() != static_cast<std::size_t>(p.dp) || sum != p.microbatches)
    return base::say("{} shares of {} microbatches in all, but dp {} and {} microbatches", p.shares.size(), sum, p.dp,
                     p.microbatches);
  if (p.shards(2)) return base::say("in ZeRO 2 and 3 all replicas meet at every microbatch, so their shares are equal");
  return {};
}

base::Text wrong_counts(const Program& p) {
  for (const base::Text& wrong :
       {wrong_number(base::Phrase("pp"), p.pp, max_ranks), wrong_number(base::Phrase("dp"), p.dp, max_ranks),
        wrong_number(base::Phrase("replicas"), p.replicas, max_ranks),
        wrong_number(base::Phrase("microbatches"), p.microbatches, max_microbatches),
        wrong_number(base::Phrase("stages"), p.stages(), max_stages)}) {
    if (!wrong.empty()) return wrong;
  }
  if (p.zero < 0 || p.zero > 3) return base::say("zero must be from 0 to 3, not {}", p.zero);
  if (static_cast<std::int64_t>(p.pp) * p.dp > max_ranks)
    return base::say("pp {} x dp {} ranks are more than {}", p.pp, p.dp, max_ranks);
  if (p.replicas % p.dp != 0) return base::say("{} replicas are no multiple of dp {}", p.replicas, p.dp);
  return wrong_shares(p);
}

base::Text wrong_stages(const Program& p) {
  std::vector<bool> has_stage(static_cast<std::size_t>(p.pp));
  for (int s = 0; s < p.stages(); ++s) {
    const int pp_rank = p.pp_rank_of_stage[static_cast<std::size_t>(s)];
    if (pp_rank < 0 || pp_rank >= p.pp)
      return base::say("stage {} sits on pp rank {}, which is not in 0..{}", s, pp_rank, p.pp - 1);
    has_stage[static_cast<std::size_t>(pp_rank)] = true;
  }
  const auto without = std::find(has_stage.begin(), has_stage.end(), false);
  return without == has_stage.end() ? base::Text{} : base::say("pp rank {} has no stage", without - has_stage.begin());
}

base::Text wrong_segments(const Program& p) {
  if (p.segment_begin.size() != p.pp_rank_of_stage.size() + 1) {
    return base::say("{} stages need {} segment boundaries, not {}", p.stages(), p.stages() + 1,
                     p.segment_begin.size());
  }
  if (p.segment_begin[0] != 0) return base::say("the first stage begins with segment {}, not 0", p.segment_begin[0]);
  for (int s = 0; s < p.stages(); ++s) {
    if (p.end_segment(s) <= p.first_segment(s))
      return base::say("stage {} has no segment: it begins with {}, the next with {}", s, p.first_segment(s),
                       p.end_segment(s));
  }
  if (p.first_trained < 0 || p.first_trained >= p.segments())
    return base::say("the first trained segment is {}, but the last of all is {}", p.first_trained, p.segments() - 1);
  if (p.first_trained > 0 && (p.tied || p.evaluates())) {
    return base::say(
        "the first trained segment is {}, but {}", p.first_trained,
        p.evaluates() ? base::say("an evaluation trains none") : base::say("a tied embedding is trained in segment 0"));
  }
  if (p.segments() > max_segments) return base::say("{} segments are more than {}", p.segments(), max_segments);
  if (static_cast<std::int64_t>(p.microbatches) * p.segments() > max_passes)
    return base::say("{} microbatches x {} segments are more than {}", p.microbatches, p.segments(), max_passes);
  return {};
}

void check_operand(const Program& program, std::size_t rank, std::size_t index, base::Phrase what, int value,
                   Operand operand) {
  if (operand == Operand::when_split) operand = program.reduces_each_microbatch() ? Operand::required : Operand::never;
  if (operand == Operand::required && value < 0)
    refuse_at(program, rank, index, base::say("needs a {}", base::say(what)));
  if (operand == Operand::never && value >= 0)
    refuse_at(program, rank, index, base::say("takes no {}", base::say(what)));
}

void check_place(const Program& program, std::size_t rank, std::size_t index) {
  const Instruction& i = program.ranks[rank][index];
  const int pp_rank = static_cast<int>(rank) / program.dp, dp_rank = static_cast<int>(rank) % program.dp;
  const bool stage_here = i.stage < 0 || (i.stage < program.stages() &&
                                          program.pp_rank_of_stage[static_cast<std::size_t>(i.stage)] == pp_rank);
  if (!stage_here) refuse_at(program, rank, index, base::say("the stage does not sit on this rank"));
  const auto [begin, end] = i.stage < 0 ? SegmentRange{0, 1} : segments_of(program, i);
  if (traits(i.kind).segments == Segments::trained && (begin >= end || begin < program.first_trained))
    refuse_at(program, rank, index, base::say("segments below {} have no backward", program.first_trained));
  const bool mine =
      i.microbatch < program.microbatches && (i.microbatch < 0 || program.dp_rank_of(i.microbatch) == dp_rank);
  if (!mine) refuse_at(program, rank, index, base::say("the microbatch does not belong to this rank's share"));
  const bool inside =
      i.segment < 0 || (i.segment >= program.first_segment(i.stage) && i.segment < program.end_segment(i.stage));
  if (!inside) {
    refuse_at(program, rank, index,
              base::say("stage {} has the segments {} to {}", i.stage, program.first_segment(i.stage),
                        program.end_segment(i.stage) - 1));
  }
}

}  // namespace

base::Text wrong_sizes(const Program& program) {
  for (const auto check : {wrong_counts, wrong_stages, wrong_segments}) {
    const base::Text wrong = check(program);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

void check_fields(const Program& program) {
  const base::Text wrong = wrong_sizes(program);
  if (!wrong.empty()) throw UnsoundProgram(base::say("step program: {}", wrong));
  const auto wanted = static_cast<std::size_t>(program.pp) * static_cast<std::size_t>(program.dp);
  if (program.ranks.size() != wanted)
    throw UnsoundProgram(base::say("step program: it has {} ranks instead of {}", program.ranks.size(), wanted));
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (std::size_t index = 0; index < program.ranks[rank].size(); ++index) {
      const Instruction& i = program.ranks[rank][index];
      const Operands& operands = traits(i.kind).operands;
      check_operand(program, rank, index, base::Phrase("microbatch"), i.microbatch, operands.microbatch);
      check_operand(program, rank, index, base::Phrase("stage"), i.stage, operands.stage);
      check_operand(program, rank, index, base::Phrase("segment"), i.segment, operands.segment);
      check_place(program, rank, index);
    }
  }
}

namespace {

struct Posted {
  std::size_t rank = 0, index = 0;  // of the instruction
  std::string message;              // as its sender calls it
};
using Edge = std::tuple<int, int, Payload>;  // from, to, of what

// By edge, in program order of one end.
struct PostingOrder {
  std::map<Edge, std::vector<Posted>> sends, receives;
};

// Both ends of a tied table send theirs and receive the other's.
void include_tied(const Program& program, const Posted& at, int stage, PostingOrder* order) {
  const auto rank = static_cast<int>(at.rank);
  const int last = program.stages() - 1, peer = program.rank_of_stage(stage == 0 ? last : 0, rank % program.dp);
  order->receives[{peer, rank, Payload::tied_gradient}].push_back({at.rank, at.index, fmt::format("tied to {}", rank)});
  order->sends[{rank, peer, Payload::tied_gradient}].push_back({at.rank, at.index, fmt::format("tied to {}", peer)});
}

void include(const Program& program, std::size_t rank, std::size_t index, PostingOrder* order) {
  const Instruction& i = program.ranks[rank][index];
  const Role role = traits(i.kind).role;
  if (i.kind == Kind::reduce_tied) return include_tied(program, {rank, index, ""}, i.stage, order);
  if (role != Role::send && role != Role::receive) return;
  const auto me = static_cast<int>(rank);
  const int peer = program.rank_of_stage(peer_stage(i), me % program.dp);
  if (role == Role::send) {
    order->sends[{me, peer, traits(i.kind).payload}].push_back({rank, index, to_text(i)});
  } else {
    order->receives[{peer, me, traits(i.kind).payload}].push_back({rank, index, to_text(partner_of(i))});
  }
}

}  // namespace

base::Text receive_out_of_order(const Program& program) {
  PostingOrder order;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (std::size_t index = 0; index < program.ranks[rank].size(); ++index) include(program, rank, index, &order);
  }
  for (const auto& [edge, receives] : order.receives) {
    const std::vector<Posted>& sends = order.sends[edge];
    for (std::size_t k = 0; k < receives.size(); ++k) {
      if (sends[k].message == receives[k].message) continue;
      return base::say("grid rank {} starts '{}' (instruction {}) where grid rank {} sends '{}'", std::get<1>(edge),
                       to_text(program.ranks[receives[k].rank][receives[k].index]), receives[k].index,
                       std::get<0>(edge), sends[k].message);
    }
  }
  return {};
}

}  // namespace troika::schedule
