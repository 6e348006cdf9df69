// Builders: from the shape of a pipeline to the program of one step. One file per schedule; what they share is in emit.h.
//
// What every built program promises to whoever runs it:
// - Shares are contiguous: dp rank d owns the microbatches [d*m/dp, (d+1)*m/dp).
// - `load m` stands once per lane that holds the first or the last stage, before the first use of the microbatch.
// - recv_act m.s and recv_grad m.s post a receive. The receive for a computation stands before the previous computation
//   of the same direction on that lane (the first one before the computation that precedes its use), so a transfer
//   overlaps computing, and at most two receives per direction are held.
// - fwd m.s waits for recv_act m.s; bwd m.s waits for recv_grad m.s. The send follows its computation and only starts
//   the transfer. The first stage sends no gradient, the last receives none.
// - send_act m.s meets recv_act m.(s+1), send_grad m.s meets recv_grad m.(s-1), on the lanes of one dp rank. Messages
//   between two lanes carry distinct tags, so only posting matters, not order.
// - The backwards of a stage ascend in microbatch order.
// - Behind the last backward: `reduce_grads *.s` always (with dp 1 it finishes the lane's own canonical sum); with tied
//   embeddings `reduce_tied *.s` on the lanes of the first and the last stage (one lane holding both: `reduce_tied *.0`
//   once); then `norm`, then `step`.
// - bytes: sends and receives carry boundary_bytes; reduce_grads the stage's gradient_bytes and reduce_tied tied_bytes
//   when another lane takes part, else 0 (what crosses the wire follows from the algorithm that sums).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/checker.h"
#include "schedule/instruction.h"

namespace troika::schedule {

struct PipelineShape {
  int pp = 1;
  int dp = 1;
  int microbatches = 1;  // of the whole step; a multiple of dp
  bool tied = false;
  std::int64_t boundary_bytes = 0;           // one microbatch's activation at a stage border
  std::vector<std::int64_t> gradient_bytes;  // per stage; empty: unknown, counted as 0
  std::int64_t tied_bytes = 0;               // gradient of the tied embedding
};

// All forwards, then all backwards. Every microbatch of the share is in flight at once.
// Y. Huang et al., "GPipe: efficient training of giant neural networks using pipeline parallelism", NeurIPS 2019; the
// backwards ascend here (as in the gradient sum), which costs no time.
Program build_gpipe(const PipelineShape& shape);

// pp-1-s forwards first, then one forward and one backward in turn: at most pp-s microbatches in flight on stage s.
// D. Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021 (PipeDream-Flush).
Program build_1f1b(const PipelineShape& shape);

// By name: gpipe, 1f1b. ConfigError names the nearest schedule, and what is wrong with the shape.
Program build(const std::string& schedule, const PipelineShape& shape);
std::vector<std::string> schedule_names();

// What the schedule promises about microbatches in flight, per lane, for check(). saved_bytes is left empty.
Bounds bounds(const std::string& schedule, const PipelineShape& shape);

}  // namespace troika::schedule
