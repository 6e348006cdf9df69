#include "schedule/sizes.h"

#include <algorithm>

#include "schedule/border.h"
#include "schedule/fault.h"

namespace troika::schedule {

namespace {

std::string wrong_number(const char* what, int value, int most) {
  if (value >= 1 && value <= most) return "";
  return fmt::format("{} must be from 1 to {}, not {}", what, most, value);
}

std::string wrong_counts(const Program& p) {
  for (const std::string& wrong :
       {wrong_number("pp", p.pp, max_lanes), wrong_number("dp", p.dp, max_lanes),
        wrong_number("replicas", p.replicas, max_lanes), wrong_number("microbatches", p.microbatches, max_microbatches),
        wrong_number("stages", p.stages(), max_stages)}) {
    if (!wrong.empty()) return wrong;
  }
  if (p.zero < 0 || p.zero > 3) return fmt::format("zero must be from 0 to 3, not {}", p.zero);
  if (static_cast<std::int64_t>(p.pp) * p.dp > max_lanes)
    return fmt::format("pp {} x dp {} lanes are more than {}", p.pp, p.dp, max_lanes);
  if (p.replicas % p.dp != 0) return fmt::format("{} replicas are no multiple of dp {}", p.replicas, p.dp);
  if (p.microbatches % p.dp != 0) return fmt::format("{} microbatches do not divide over dp {}", p.microbatches, p.dp);
  return "";
}

std::string wrong_stages(const Program& p) {
  std::vector<bool> has_stage(static_cast<std::size_t>(p.pp));
  for (int s = 0; s < p.stages(); ++s) {
    const int rank = p.pp_rank_of_stage[static_cast<std::size_t>(s)];
    if (rank < 0 || rank >= p.pp)
      return fmt::format("stage {} sits on pp rank {}, which is not in 0..{}", s, rank, p.pp - 1);
    has_stage[static_cast<std::size_t>(rank)] = true;
  }
  const auto without = std::find(has_stage.begin(), has_stage.end(), false);
  return without == has_stage.end() ? "" : fmt::format("pp rank {} has no stage", without - has_stage.begin());
}

std::string wrong_segments(const Program& p) {
  if (p.segment_begin.size() != p.pp_rank_of_stage.size() + 1) {
    return fmt::format("{} stages need {} segment borders, not {}", p.stages(), p.stages() + 1, p.segment_begin.size());
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

enum class Need { none, one, any };

struct Fields {
  Need microbatch, stage, segment;
};

Fields fields_of(const Program& program, Kind kind) {
  switch (kind) {
    case Kind::load:
      return {Need::one, Need::none, Need::none};
    case Kind::fwd:
    case Kind::refwd:
    case Kind::bwd:
    case Kind::bwd_input:
    case Kind::bwd_weight:
      return {Need::one, Need::one, Need::any};
    case Kind::send_act:
    case Kind::recv_act:
    case Kind::send_grad:
    case Kind::recv_grad:
      return {Need::one, Need::one, Need::none};
    case Kind::gather_params:
    case Kind::free_params:
    case Kind::fetch:
    case Kind::offload:
      return {Need::none, Need::one, Need::one};
    case Kind::reduce_grads:
      return {program.reduces_each_microbatch() ? Need::one : Need::none, Need::one, Need::any};
    case Kind::gather_grads:
    case Kind::step:
      return {Need::none, Need::one, Need::any};
    case Kind::reduce_tied:
      return {Need::none, Need::one, Need::none};
    case Kind::norm:
    case Kind::loss:
      break;
  }
  return {Need::none, Need::none, Need::none};
}

void check_field(const Program& program, std::size_t lane, std::size_t index, const char* what, int value, Need need) {
  if (need == Need::one && value < 0) fault(program, lane, index, fmt::format("needs a {}", what));
  if (need == Need::none && value >= 0) fault(program, lane, index, fmt::format("takes no {}", what));
}

void check_place(const Program& program, std::size_t lane, std::size_t index) {
  const Instruction& i = program.lanes[lane][index];
  const int pp_rank = static_cast<int>(lane) / program.dp, dp_rank = static_cast<int>(lane) % program.dp;
  const bool stage_here = i.stage < 0 || (i.stage < program.stages() &&
                                          program.pp_rank_of_stage[static_cast<std::size_t>(i.stage)] == pp_rank);
  if (!stage_here) fault(program, lane, index, "the stage does not sit on this lane");
  const auto [begin, end] = i.stage < 0 ? SegmentRange{0, 1} : segments_of(program, i);
  if (belongs_to_backward(i.kind) && (begin >= end || begin < program.first_trained))
    fault(program, lane, index, fmt::format("segments below {} have no backward", program.first_trained));
  const bool mine =
      i.microbatch < program.microbatches && (i.microbatch < 0 || program.dp_rank_of(i.microbatch) == dp_rank);
  if (!mine) fault(program, lane, index, "the microbatch does not belong to this lane's share");
  const bool inside =
      i.segment < 0 || (i.segment >= program.first_segment(i.stage) && i.segment < program.end_segment(i.stage));
  if (!inside) {
    fault(program, lane, index,
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
  if (program.lanes.size() != wanted)
    throw base::BugError(fmt::format("step program: it has {} lanes instead of {}", program.lanes.size(), wanted));
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    for (std::size_t index = 0; index < program.lanes[lane].size(); ++index) {
      const Instruction& i = program.lanes[lane][index];
      const Fields fields = fields_of(program, i.kind);
      check_field(program, lane, index, "microbatch", i.microbatch, fields.microbatch);
      check_field(program, lane, index, "stage", i.stage, fields.stage);
      check_field(program, lane, index, "segment", i.segment, fields.segment);
      check_place(program, lane, index);
    }
  }
}

}  // namespace troika::schedule
