// Builders: from the shape of a step to its program. A schedule gives the order of computations (schedules.cc); what
// follows from that order is common (rank_builder.h).
//
// Every built program guarantees:
// - Stage s is on pp rank s % pp. Shares are contiguous (program.h).
// - `load m` occurs once per rank that holds the first or the last stage, before the first use of the microbatch.
// - recv_act m.s and recv_grad m.s post a receive. It precedes the previous computation of a stage that received
//   in that direction on that rank (the first one before the computation that precedes its use), so a transfer overlaps
//   computing, and at most two receives per direction are held.
// - send_act m.s meets recv_act m.(s+1), send_grad m.s meets recv_grad m.(s-1), on the ranks of one dp rank; sends
//   follow their computation. Messages between two ranks carry distinct tags, so only posting matters, not order.
// - The passes of a stage go by ascending microbatch; nothing that runs a program needs that.
// - By segment, descending: backward with Recompute::full, with ZeRO 2 or 3, and with Overlap::on of the share's last
//   microbatch. By segment, ascending: forward with Recompute::full or ZeRO 3. Otherwise whole stages. Split backwards:
//   bwd_input by segment with Recompute::full or ZeRO 3, bwd_weight with ZeRO 2, 3 or Overlap::on as above. "ZeRO n"
//   and overlap count only with several replicas.
// - Recompute::full: refwd m.s.g precedes the backward of segment g, but not for the last segment of a stage whose
//   backward follows its forward directly on the rank: that forward keeps everything.
// - ZeRO 3: gather_params *.s.g one segment ahead of its use (Overlap::off: directly before), free_params behind the
//   last use. Consecutive uses share a gather, and so does a use after which the same segment would be gathered again
//   at once.
// - reduce_grads: `m.s.g` behind each weight backward in ZeRO 2, 3 (for any overlap); with Overlap::on `*.s.g` behind
//   the weight backward of the share's last microbatch, but not before the send_grad of that pass, which the stage
//   before waits for; with Overlap::off or one replica `*.s` at the end.
// - gather_grads: ZeRO 0 with several replicas, Overlap::on `*.s.g` behind the computation that follows the reduction,
//   those of the tied embedding behind reduce_tied, the rest at the end; Overlap::off `*.s` at the end.
// - The end: reductions, reduce_tied (if the table is on two ranks), gather_grads, norm, then
//   `step *.s`; by segment with an offload (`fetch a | fetch b | step a | offload a | fetch c | step b ...`) and in
//   ZeRO 1, 2 (`step a | gather_params a | step b ...`).
// - With first_trained above 0: no backward, recomputation, reduction and step of the segments below it, and no
//   gradient to a stage of such segments alone. Its forwards run ahead as far as their messages are taken.
// - bytes: sends and receives boundary_bytes; reduce_tied tied_bytes when another rank takes part; exchanges of
//   replicas those of SegmentBytes (0 with one replica). Messages of microbatches that are usually absent have 0.
#pragma once

#include <cstdint>
#include <vector>

#include "config/choices.h"
#include "schedule/check/checker.h"
#include "schedule/instruction/program.h"

namespace troika::schedule {

struct SegmentBytes {                // sent by one rank, per instruction
  std::int64_t gradients_sent = 0;   // reduce_grads
  std::int64_t totals_sent = 0;      // gather_grads
  std::int64_t parameters_sent = 0;  // gather_params
};

enum class Overlap { on, off };

// Stage s is on pp rank s % pp where pp_rank_of_stage is empty; build_evaluation takes the stages of a program of any order.
// Microbatches are a multiple of dp unless there are shares.
struct StepShape : ProgramShape {
  int room = 1;            // times as many microbatches as a step has: usually the first ones of each rank are absent
  int virtual_stages = 1;  // stages per pp rank
  config::Recompute recompute = config::Recompute::none;
  Overlap overlap = Overlap::on;
  config::Offload offload = config::Offload::none;
  std::int64_t boundary_bytes = 0;     // one microbatch's activation at a stage boundary
  std::vector<SegmentBytes> segments;  // by segment; empty: 0
  std::int64_t tied_bytes = 0;         // gradient of the tied embedding
};

// The program without instructions: stages on their pp ranks. ConfigError when the shape is impossible.
Program empty_program(const StepShape& shape);

// ConfigError says what is wrong with the shape.
Program build(config::Schedule schedule, const StepShape& shape);

// Forwards alone, of microbatches that are evaluated rather than trained on, with the stages of `training`; its
// schedule, recompute and offload are ignored. Each microbatch goes through a stage whole before the next one does;
// with several stages on a rank, microbatches go in groups of pp. ZeRO 3 gathers and frees as in training. The end:
// `loss`.
Program build_evaluation(const StepShape& training);
Bounds bounds_of_evaluation(const Program& program);  // one microbatch in flight

// Sets the bytes of every instruction as the builders do, for programs that were read from a file. `shape` is that of
// the same stages.
void set_bytes(const StepShape& shape, Program* program);

// The limits that the schedule promises for microbatches in flight, per rank, for check(). The bytes are left empty.
Bounds bounds(config::Schedule schedule, const StepShape& shape);

}  // namespace troika::schedule
