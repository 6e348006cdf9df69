#include "schedule/check/well_formed.h"

#include <algorithm>

#include "schedule/check/errors.h"
#include "schedule/instruction/placement.h"

namespace troika::schedule {

namespace {

std::string wrong_number(const char* what, int value, int most) {
  if (value >= 1 && value <= most) return "";
  return fmt::format("{} must be from 1 to {}, not {}", what, most, value);
}

std::string wrong_shares(const Program& p) {
  if (p.shares.empty() && p.microbatches % p.dp != 0)
    return fmt::format("{} microbatches do not divide over dp {}", p.microbatches, p.dp);
  if (p.shares.empty()) return "";
  std::int64_t sum = 0;
  for (const int share : p.shares) {
    if (share < 1) return "every share must have a microbatch";
    sum += share;
  }
  if (p.shares.size() != static_cast<std::size_t>(p.dp) || sum != p.microbatches)
    return fmt::format("{} shares of {} microbatches in all, but dp {} and {} microbatches", p.shares.size(), sum, p.dp,
                       p.microbatches);
  if (p.shards(2)) return "in ZeRO 2 and 3 all replicas meet at every microbatch, so their shares are equal";
  return "";
}

std::string wrong_counts(const Program& p) {
  for (const std::string& wrong :
       {wrong_number("pp", p.pp, max_ranks), wrong_number("dp", p.dp, max_ranks),
        wrong_number("replicas", p.replicas, max_ranks), wrong_number("microbatches", p.microbatches, max_microbatches),
        wrong_number("stages", p.stages(), max_stages)}) {
    if (!wrong.empty()) return wrong;
  }
  if (p.zero < 0 || p.zero > 3) return fmt::format("zero must be from 0 to 3, not {}", p.zero);
  if (static_cast<std::int64_t>(p.pp) * p.dp > max_ranks)
    return fmt::format("pp {} x dp {} ranks are more than {}", p.pp, p.dp, max_ranks);
  if (p.replicas % p.dp != 0) return fmt::format("{} replicas are no multiple of dp {}", p.replicas, p.dp);
  return wrong_shares(p);
}

std::string wrong_stages(const Program& p) {
  std::vector<bool> has_stage(static_cast<std::size_t>(p.pp));
  for (int s = 0; s < p.stages(); ++s) {
    const int pp_rank = p.pp_rank_of_stage[static_cast<std::size_t>(s)];
    if (pp_rank < 0 || pp_rank >= p.pp)
      return fmt::format("stage {} sits on pp rank {}, which is not in 0..{}", s, pp_rank, p.pp - 1);
    has_stage[static_cast<std::size_t>(pp_rank)] = true;
  }
  const auto without = std::find(has_stage.begin(), has_stage.end(), false);
  return without == has_stage.end() ? "" : fmt::format("pp rank {} has no stage", without - has_stage.begin());
}

std::string wrong_segments(const Program& p) {
  if (p.segment_begin.size() != p.pp_rank_of_stage.size() + 1) {
    return fmt::format("{} stages need {} segment boundaries, not {}", p.stages(), p.stages() + 1,
                       p.segment_begin.size());
  }
  if (p.segment_begin[0] != 0) return fmt::format("the first stage begins with segment {}, not 0", p.segment_begin[0]);
  for (int s = 0; s < p.stages(); ++s) {
    if (p.end_segment(s) <= p.first_segment(s))
      return fmt::format("stage {} has no segment: it begins with {}, the next with {}", s, p.first_segment(s),
                         p.end_segment(s));
  }
  if (p.first_trained < 0 || p.first_trained >= p.segments())
    return fmt::format("the first trained segment is {}, but the last of all is {}", p.first_trained, p.segments() - 1);
  if (p.first_trained > 0 && (p.tied || p.evaluates())) {
    return fmt::format("the first trained segment is {}, but {}", p.first_trained,
                       p.evaluates() ? "an evaluation trains none" : "a tied embedding is trained in segment 0");
  }
  if (p.segments() > max_segments) return fmt::format("{} segments are more than {}", p.segments(), max_segments);
  if (static_cast<std::int64_t>(p.microbatches) * p.segments() > max_passes)
    return fmt::format("{} microbatches x {} segments are more than {}", p.microbatches, p.segments(), max_passes);
  return "";
}

void check_operand(const Program& program, std::size_t rank, std::size_t index, const char* what, int value,
                   Operand operand) {
  if (operand == Operand::when_split) operand = program.reduces_each_microbatch() ? Operand::required : Operand::never;
  if (operand == Operand::required && value < 0) refuse_at(program, rank, index, fmt::format("needs a {}", what));
  if (operand == Operand::never && value >= 0) refuse_at(program, rank, index, fmt::format("takes no {}", what));
}

void check_place(const Program& program, std::size_t rank, std::size_t index) {
  const Instruction& i = program.ranks[rank][index];
  const int pp_rank = static_cast<int>(rank) / program.dp, dp_rank = static_cast<int>(rank) % program.dp;
  const bool stage_here = i.stage < 0 || (i.stage < program.stages() &&
                                          program.pp_rank_of_stage[static_cast<std::size_t>(i.stage)] == pp_rank);
  if (!stage_here) refuse_at(program, rank, index, "the stage does not sit on this rank");
  const auto [begin, end] = i.stage < 0 ? SegmentRange{0, 1} : segments_of(program, i);
  if (traits(i.kind).segments == Segments::trained && (begin >= end || begin < program.first_trained))
    refuse_at(program, rank, index, fmt::format("segments below {} have no backward", program.first_trained));
  const bool mine =
      i.microbatch < program.microbatches && (i.microbatch < 0 || program.dp_rank_of(i.microbatch) == dp_rank);
  if (!mine) refuse_at(program, rank, index, "the microbatch does not belong to this rank's share");
  const bool inside =
      i.segment < 0 || (i.segment >= program.first_segment(i.stage) && i.segment < program.end_segment(i.stage));
  if (!inside) {
    refuse_at(program, rank, index,
              fmt::format("stage {} has the segments {} to {}", i.stage, program.first_segment(i.stage),
                          program.end_segment(i.stage) - 1));
  }
}

}  // namespace

std::string wrong_sizes(const Program& program) {
  for (const auto check : {wrong_counts, wrong_stages, wrong_segments}) {
    const std::string wrong = check(program);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

void check_fields(const Program& program) {
  const std::string wrong = wrong_sizes(program);
  if (!wrong.empty()) throw base::BugError("step program: " + wrong);
  const auto wanted = static_cast<std::size_t>(program.pp) * static_cast<std::size_t>(program.dp);
  if (program.ranks.size() != wanted)
    throw base::BugError(fmt::format("step program: it has {} ranks instead of {}", program.ranks.size(), wanted));
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (std::size_t index = 0; index < program.ranks[rank].size(); ++index) {
      const Instruction& i = program.ranks[rank][index];
      const Operands& operands = traits(i.kind).operands;
      check_operand(program, rank, index, "microbatch", i.microbatch, operands.microbatch);
      check_operand(program, rank, index, "stage", i.stage, operands.stage);
      check_operand(program, rank, index, "segment", i.segment, operands.segment);
      check_place(program, rank, index);
    }
  }
}

}  // namespace troika::schedule
