// The program of a step: what every rank does in one training step, or in one round of an evaluation, in order.
//
// Words: rank, in this module = a rank of the pp x dp grid, rank = pp_rank * dp + dp_rank (all ranks of one tp/cp group
// share its program; the rank among all processes is called world rank); microbatch = index over all data-parallel
// ranks of one step; stage = consecutive segments, numbered along the pipeline; segment = numbered within the whole
// model; replicas = the ranks that hold the same parameters (dp x cp); share = the microbatches of one dp rank. ZeRO
// counts only with several replicas: with one there is nothing to shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/instruction/kinds.h"

namespace troika::schedule {

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

// "fwd 4.1", "gather_params *.1.7", "reduce_grads *.1", "load 4", "norm": kind, then microbatch.stage.segment with `*`
// for an unset microbatch and trailing unset parts left out.
std::string to_text(const Instruction& instruction);
Instruction parse_instruction(std::string_view text);  // ConfigError names the text and the character

// The limits of a program; parse_program and check refuse more.
inline constexpr int max_ranks = 16384, max_stages = 16384, max_segments = 65536, max_microbatches = 1000000;
inline constexpr std::int64_t max_passes = 1 << 24;  // microbatches x segments

// training: forwards, backwards and an optimizer step; segments below the lowest trained one have forwards only, which
// keep nothing, and no part in what follows from backwards. evaluation: forwards only, which keep nothing for a
// backward, and `loss` in place of norm and step (Traits::tasks).
enum class Task : std::uint8_t { training, evaluation };

// The numbers of a program: its ranks, what they share, and where its stages lie.
struct ProgramShape {
  int pp = 1;
  int dp = 1;
  int replicas = 1;                   // a multiple of dp (dp x cp); says only whether exchanges are real
  int zero = 0;                       // 0..3
  int microbatches = 1;               // of the whole step
  std::vector<int> shares;            // of each dp rank, ZeRO 0 and 1 only; empty: equal ones
  std::vector<int> pp_rank_of_stage;  // size = number of stages
  std::vector<int> segment_begin;     // size stages + 1: first segment of each stage, then the end
  bool tied = false;                  // first and last stage share the embedding, which is trained
  int first_trained = 0;              // of training: the lowest segment with a backward
};

struct Program : ProgramShape {
  Task task = Task::training;
  std::vector<std::vector<Instruction>> ranks;  // size pp * dp: the instructions of each rank

  bool evaluates() const { return task == Task::evaluation; }

  int stages() const { return static_cast<int>(pp_rank_of_stage.size()); }
  int segments() const { return segment_begin.empty() ? 0 : segment_begin.back(); }
  int first_segment(int stage) const { return segment_begin[static_cast<std::size_t>(stage)]; }
  int end_segment(int stage) const { return segment_begin[static_cast<std::size_t>(stage) + 1]; }
  int grid_rank(int pp_rank, int dp_rank) const { return pp_rank * dp + dp_rank; }
  int rank_of_stage(int stage, int dp_rank) const {
    return grid_rank(pp_rank_of_stage[static_cast<std::size_t>(stage)], dp_rank);
  }

  // ZeRO stage n or more, and something to shard.
  bool shards(int stage_of_zero) const { return zero >= stage_of_zero && replicas > 1; }
  // ZeRO 2, 3: gradients are reduced microbatch by microbatch; the k-th of each dp rank meet in one exchange.
  bool reduces_each_microbatch() const { return shards(2); }

  // Shares are contiguous, one dp rank's after the other's.
  int share_size(int dp_rank) const {
    return shares.empty() ? microbatches / dp : shares[static_cast<std::size_t>(dp_rank)];
  }
  int share_begin(int dp_rank) const;
  int last_of_share(int dp_rank) const { return share_begin(dp_rank) + share_size(dp_rank) - 1; }
  int dp_rank_of(int microbatch) const;                 // whose share holds it
  std::vector<int> microbatches_of(int dp_rank) const;  // the share, ascending
  int index_in_share(int microbatch) const { return microbatch - share_begin(dp_rank_of(microbatch)); }
};

// Header line "pp 2 dp 2 replicas 2 zero 1 microbatches 8 stages 0,1 segments 0,3,6 tied" (shares that are stated as
// "shares 5,3" behind the microbatches; stages: the pp rank of each stage; segments: segment_begin; first_trained above 0 as "trained_from 2" behind it; an evaluation has
// "evaluation" there), then one line per rank, instructions separated by " | ". Parses back to an equal program (bytes
// are not part of it). ConfigError names line and word, or line, column and rank.
std::string to_text(const Program& program);
Program parse_program(std::string_view text);

}  // namespace troika::schedule
