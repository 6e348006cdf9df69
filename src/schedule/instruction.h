// The vocabulary of the step program: what one rank does in one training step, or in one round of an evaluation, in
// order.
//
// Words: microbatch = index over all data-parallel ranks of one step; stage = consecutive segments, numbered along the
// pipeline; segment = numbered within the whole model; lane = a rank of the pp x dp grid (all ranks of one tp/cp group
// share it), lane = pp_rank * dp + dp_rank; replicas = the ranks that hold the same parameters (dp x cp); share = the
// microbatches of one dp rank. ZeRO counts only with several replicas: with one there is nothing to share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::schedule {

// In brackets: without segment, all segments of the stage, forwards in order and backwards in reverse order.
enum class Kind : std::uint8_t {
  load,           // m      read the microbatch's tokens (first and last stage need them, or all)
  fwd,            // m.s[.g] keeps what backward needs, or only its input where a refwd m.s.g stands later
  refwd,          // m.s[.g] forward again before the backward, for recomputation
  bwd,            // m.s[.g] both halves of backward at once
  bwd_input,      // m.s[.g] gradient of the input only
  bwd_weight,     // m.s[.g] gradient of the weights only, after bwd_input; needs no parameters
  send_act,       // m.s    output of stage s to stage s+1
  recv_act,       // m.s    input of stage s from stage s-1
  send_grad,      // m.s    gradient of stage s's input to stage s-1
  recv_grad,      // m.s    gradient of stage s's output from stage s+1
  gather_params,  // .s.g   starts gathering a segment's parameters from the shards of all replicas
  free_params,    // .s.g   the gathered parameters are no longer needed (ZeRO 3)
  reduce_grads,   // .s[.g] (ZeRO 0, 1, or one replica) or m.s[.g] (ZeRO 2, 3): starts sending each replica its part
  gather_grads,   // .s[.g] (ZeRO 0) waits for the reduction, starts sending the totals to all replicas
  reduce_tied,    // .s     adds the two uses of the tied embedding (first and last stage); one lane with both: once, .0
  norm,           //        loss, token count, gradient norm, wishes: one exact sum over the world
  fetch,          // .s.g   starts copying a segment's optimizer state from where it is offloaded
  offload,        // .s.g   starts copying it back
  step,           // .s[.g] the optimizer step
  loss,           //        the end of an evaluation: losses and token counts, one exact sum over the world
};
inline constexpr int kind_count = static_cast<int>(Kind::loss) + 1;

const char* name(Kind kind);
bool parse_kind(std::string_view text, Kind* kind);

struct Instruction {
  Kind kind = Kind::norm;
  int microbatch = -1;     // -1: not about one microbatch
  int stage = -1;          // -1: not about one stage
  int segment = -1;        // -1: all segments of the stage
  std::int64_t bytes = 0;  // sent (recv_*: received) by this rank; not part of the text form

  bool operator==(const Instruction& o) const {
    return kind == o.kind && microbatch == o.microbatch && stage == o.stage && segment == o.segment;
  }
};

bool is_communication(Kind kind);  // starts a transfer or an exchange with other ranks
bool is_computation(Kind kind);    // fwd, refwd, bwd, bwd_input, bwd_weight

// "fwd 4.1", "gather_params *.1.7", "reduce_grads *.1", "load 4", "norm": kind, then microbatch.stage.segment with `*`
// for an unset microbatch and trailing unset parts left out.
std::string to_text(const Instruction& instruction);
Instruction parse_instruction(std::string_view text);  // ConfigError names the text and the character

// What a program may at most have; parse_program and check refuse more.
inline constexpr int max_lanes = 16384, max_stages = 16384, max_segments = 65536, max_microbatches = 1000000;
inline constexpr std::int64_t max_passes = 1 << 24;  // microbatches x segments

// training: forwards, backwards and an optimizer step; segments below the lowest trained one have forwards only, which
// keep nothing, and no part in what follows from backwards. evaluation: forwards only, which keep nothing for a
// backward, and `loss` in place of norm and step; of the kinds above load, fwd, send_act, recv_act, gather_params and
// free_params.
enum class Task : std::uint8_t { training, evaluation };

// One step for every lane.
struct Program {
  Task task = Task::training;
  int pp = 1;
  int dp = 1;
  int replicas = 1;                             // a multiple of dp; says only whether exchanges are real
  int zero = 0;                                 // 0..3
  int microbatches = 1;                         // of the whole step
  std::vector<int> pp_rank_of_stage;            // size = number of stages
  std::vector<int> segment_begin;               // size stages + 1: first segment of each stage, then the end
  bool tied = false;                            // first and last stage share the embedding, which is trained
  int first_trained = 0;                        // of training: the lowest segment with a backward
  bool all_load = false;                        // every stage reads tokens, not only the first and the last
  std::vector<std::vector<Instruction>> lanes;  // size pp * dp

  bool evaluates() const { return task == Task::evaluation; }

  int stages() const { return static_cast<int>(pp_rank_of_stage.size()); }
  int segments() const { return segment_begin.empty() ? 0 : segment_begin.back(); }
  int first_segment(int stage) const { return segment_begin[static_cast<std::size_t>(stage)]; }
  int end_segment(int stage) const { return segment_begin[static_cast<std::size_t>(stage) + 1]; }
  int lane(int pp_rank, int dp_rank) const { return pp_rank * dp + dp_rank; }
  int lane_of_stage(int stage, int dp_rank) const {
    return lane(pp_rank_of_stage[static_cast<std::size_t>(stage)], dp_rank);
  }

  // ZeRO stage n or more, and something to share.
  bool shards(int stage_of_zero) const { return zero >= stage_of_zero && replicas > 1; }
  // ZeRO 2, 3: gradients are reduced microbatch by microbatch, and shares are round-robin. In round k the microbatches
  // k*dp .. k*dp + dp-1 of all dp ranks meet in one exchange.
  bool reduces_each_microbatch() const { return shards(2); }
  int round_of(int microbatch) const { return microbatch / dp; }

  // The dp rank whose share holds the microbatch: contiguous shares for ZeRO 0, 1; m % dp for ZeRO 2, 3.
  int dp_rank_of(int microbatch) const { return zero >= 2 ? microbatch % dp : microbatch / share_size(); }
  int share_size() const { return microbatches / dp; }
  std::vector<int> microbatches_of(int dp_rank) const;  // the share, ascending
  int index_in_share(int microbatch) const { return zero >= 2 ? microbatch / dp : microbatch % share_size(); }
};

// Header line "pp 2 dp 2 replicas 2 zero 1 microbatches 8 stages 0,1 segments 0,3,6 tied" (stages: the pp rank of each
// stage; segments: segment_begin; first_trained above 0 as "trained_from 2" behind it; "all_load"; an evaluation has
// "evaluation" there), then one line per lane, instructions separated by " | ". Parses back to an equal program (bytes
// are not part of it). ConfigError names line and word, or line, column and lane.
std::string to_text(const Program& program);
Program parse_program(std::string_view text);

}  // namespace troika::schedule
