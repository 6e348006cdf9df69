// The vocabulary of the step program: what one rank does in one training step, in order.
//
// Words: microbatch = index over all data-parallel ranks of one step; stage = consecutive segments, numbered along the
// pipeline; segment = numbered within the whole model; lane = a rank of the pp x dp grid (all ranks of one tp/cp group share
// it), lane = pp_rank * dp + dp_rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::schedule {

enum class Kind : std::uint8_t {
  load,           // m    read the microbatch's tokens (first and last stage need them)
  fwd,            // m.s  forward of the stage; keeps what backward needs
  refwd,          // m.s  forward again, for recomputation
  bwd,            // m.s  both halves of backward at once
  bwd_input,      // m.s  gradient of the input only
  bwd_weight,     // m.s  gradient of the weights only, after bwd_input
  send_act,       // m.s  output of stage s to stage s+1
  recv_act,       // m.s  input of stage s from stage s-1
  send_grad,      // m.s  gradient of stage s's input to stage s-1
  recv_grad,      // m.s  gradient of stage s's output from stage s+1
  gather_params,  // .s.g parameters of a segment from the shards of all dp ranks
  free_params,    // .s.g
  reduce_grads,   // .s[.g] canonical sum over dp of the stage's (segment's) gradients
  reduce_tied,    // .s   adds the two uses of the tied embedding (first and last stage)
  offload,        // m.s  to host memory or a file
  fetch,          // m.s  back
  norm,           //      loss, token count, gradient norm, wishes: one exact sum over the world
  step,           //      the optimizer step
};
inline constexpr int kind_count = static_cast<int>(Kind::step) + 1;

const char* name(Kind kind);
bool parse_kind(std::string_view text, Kind* kind);

struct Instruction {
  Kind kind = Kind::step;
  int microbatch = -1;     // -1: not about one microbatch
  int stage = -1;          // -1: not about one stage
  int segment = -1;        // -1: all segments of the stage
  std::int64_t bytes = 0;  // sent, received or exchanged by this rank; not part of the text form

  bool operator==(const Instruction& o) const {
    return kind == o.kind && microbatch == o.microbatch && stage == o.stage && segment == o.segment;
  }
};

bool is_communication(Kind kind);  // starts a transfer or an exchange with other lanes

// "fwd 4.1", "gather_params *.1.7", "reduce_grads *.1", "load 4", "norm": kind, then microbatch.stage.segment with `*` for an
// unset microbatch and trailing unset parts left out.
std::string to_text(const Instruction& instruction);
Instruction parse_instruction(std::string_view text);  // ConfigError names the text

// One step for every lane.
struct Program {
  int pp = 1;
  int dp = 1;
  int microbatches = 1;                         // of the whole step
  std::vector<int> pp_rank_of_stage;            // size = number of stages
  bool tied = false;                            // first and last stage share the embedding
  std::vector<std::vector<Instruction>> lanes;  // size pp * dp

  int stages() const { return static_cast<int>(pp_rank_of_stage.size()); }
  int lane(int pp_rank, int dp_rank) const { return pp_rank * dp + dp_rank; }
  int lane_of_stage(int stage, int dp_rank) const {
    return lane(pp_rank_of_stage[static_cast<std::size_t>(stage)], dp_rank);
  }
  // The dp rank whose share holds the microbatch (contiguous shares).
  int dp_rank_of(int microbatch) const { return microbatch / (microbatches / dp); }
};

// Header line "pp 3 dp 1 microbatches 12 stages 0,1,2 tied", then one line per lane, instructions separated by " | ".
// Parses back to an equal program (bytes are not part of it).
std::string to_text(const Program& program);
Program parse_program(std::string_view text);

}  // namespace troika::schedule
