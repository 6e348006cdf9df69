// Where a program puts things: which stages a rank has, which segments an instruction means, where messages cross
// ranks.
#pragma once

#include <algorithm>
#include <vector>

#include "schedule/instruction/program.h"

namespace troika::schedule {

struct SegmentRange {
  int begin = 0, end = 0;
};

// The segments an instruction is about: its own, or all of its stage that have what it does.
inline SegmentRange segments_of(const Program& program, const Instruction& i) {
  if (i.segment >= 0) return {i.segment, i.segment + 1};
  const int first = program.first_segment(i.stage), end = program.end_segment(i.stage);
  const bool trained = traits(i.kind).segments == Segments::trained;
  return {trained ? std::min(std::max(first, program.first_trained), end) : first, end};
}

inline SegmentRange trained_segments_of(const Program& program, int stage) {
  return segments_of(program, {Kind::step, -1, stage, -1, 0});
}

inline bool has_backward(const Program& program, int stage) {
  return !program.evaluates() && program.end_segment(stage) > program.first_trained;
}

// An activation sent for which no gradient will come back. Of these one is under way at a time.
inline bool is_unanswered(const Program& program, const Instruction& i) {
  return i.kind == Kind::send_act && !has_backward(program, i.stage);
}

inline std::vector<int> stages_of_rank(const Program& program, int rank) {
  std::vector<int> stages;
  for (int s = 0; s < program.stages(); ++s) {
    if (program.pp_rank_of_stage[static_cast<std::size_t>(s)] == rank / program.dp) stages.push_back(s);
  }
  return stages;
}

inline std::vector<int> trained_stages_of_rank(const Program& program, int rank) {
  std::vector<int> stages;
  for (const int stage : stages_of_rank(program, rank)) {
    if (has_backward(program, stage)) stages.push_back(stage);
  }
  return stages;
}

// Whether a microbatch is one of those that a program has beyond an even distribution, of which it has `room` times as many.
inline bool is_spare(const Program& program, int room, int microbatch) {
  return microbatch >= 0 && program.index_in_share(microbatch) < program.share_size(program.dp_rank_of(microbatch)) / room * (room - 1);
}

// The first and the last stage read tokens, ids and targets.
inline bool reads_tokens(const Program& program, int stage) {
  return stage == 0 || stage + 1 == program.stages();
}

// True when stage `left` and stage left+1 exist and sit on different pp ranks, so that a message crosses.
inline bool crosses_ranks(const Program& program, int left) {
  if (left < 0 || left + 1 >= program.stages()) return false;
  const auto at = static_cast<std::size_t>(left);
  return program.pp_rank_of_stage[at] != program.pp_rank_of_stage[at + 1];
}

// The same where both have a backward, so that a gradient goes back.
inline bool gradient_crosses_ranks(const Program& program, int left) {
  return crosses_ranks(program, left) && has_backward(program, left);
}

// The stage at the other end of a message, and the first of the two stages.
inline int peer_stage(const Instruction& message) { return message.stage + stage_offset(message.kind); }
inline int left_stage(const Instruction& message) { return std::min(message.stage, peer_stage(message)); }
// The instruction at the other end of a message.
inline Instruction partner_of(const Instruction& message) {
  return {partner(message.kind), message.microbatch, peer_stage(message), -1, message.bytes};
}

inline bool tied_on_one_rank(const Program& program) {
  return program.pp_rank_of_stage.front() == program.pp_rank_of_stage.back();
}

// Two ranks hold a copy of the table each, and add up what both uses give.
inline bool reduces_tied(const Program& program) {
  return program.tied && !program.evaluates() && !tied_on_one_rank(program);
}

// The embedding and the head, when they lie on two ranks and share the table.
inline bool is_tied_segment(const Program& program, int segment) {
  return reduces_tied(program) && (segment == 0 || segment + 1 == program.segments());
}

// The stages for which the rank must have reduce_tied: the first or the last.
inline std::vector<int> tied_stages_of(const Program& program, int rank) {
  std::vector<int> stages;
  if (!reduces_tied(program)) return stages;
  const int pp_rank = rank / program.dp;
  if (program.pp_rank_of_stage.front() == pp_rank) stages.push_back(0);
  if (program.pp_rank_of_stage.back() == pp_rank) stages.push_back(program.stages() - 1);
  return stages;
}

}  // namespace troika::schedule
