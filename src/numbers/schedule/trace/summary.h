// How a step's time divides into computing, communication and bubble, and a step as a text grid.
//
// Definitions, on a trace of one step (compute and wait intervals of a rank exclude each other):
// - span: from the first begin to the last end over all ranks.
// - compute: the rank's `compute` intervals.
// - communication: the part of the rank's `wait` intervals in which what was waited for had been produced, so that only
//   its transfer was missing. Produced means:
//     fwd m.s, recv_act m.s               the computation fwd m.(s-1) has ended on its rank
//     bwd, bwd_input m.s, recv_grad m.s   bwd or bwd_input m.(s+1) has ended on its rank
//     gather_grads                        the last rank has begun reduce_grads of the segment
//     step                                the last rank has begun gather_grads of the segment
//     reduce_grads, gather_params (at the end of a rank), reduce_tied, norm, loss   the last rank has begun the
//     instruction anything else (gathers before a use, reduce_grads m.s.g, bwd and bwd_weight, which wait for those before, sends,
//     copies, no producer in the trace)              from the begin of the wait
//   reduce_tied, norm and loss block their rank: where the trace has only their `transfer`, what compute and wait leave
//   of it counts as a wait. Other transfers are not counted.
// - bubble: the rest of the span: idle, or waiting for a peer that had not finished its own work.
//   compute + communication + bubble = span, per rank.
// - pipeline window: from the first begin of a fwd to the last end of a backward over all ranks.
// - pipeline bubble share: the part of ranks x window that is neither computing nor communicating, where reduce_grads,
//   gather_grads, reduce_tied, norm, loss, fetch, offload and step count as idle. For equal stages and a fast link this
//   is (p-1)/(m+p-1), with m the microbatches of one dp share.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"
#include "schedule/instruction/program.h"
#include "schedule/trace/trace.h"

namespace troika::schedule {

struct TimeShares {
  double span_seconds = 0;
  double compute_seconds = 0;
  double communication_seconds = 0;
  double bubble_seconds = 0;

  double share(double seconds) const { return span_seconds > 0 ? seconds / span_seconds : 0; }
};

struct RankSummary {
  int grid_rank = 0;
  int world_rank = 0;
  std::string host;
  TimeShares time;
  double pipeline_bubble_share = 0;
};

struct StepSummary {
  std::vector<RankSummary> ranks;  // in the order of the trace
  TimeShares total;                // sums over ranks
  double step_seconds = 0;         // the span of one rank
  double window_seconds = 0;       // the pipeline window
  double pipeline_bubble_share = 0;
};

StepSummary summarize(const StepTrace& trace);

// A fixed-width table, one row per rank and one for the total, and the pipeline bubble below.
std::string to_text(const StepSummary& summary, base::Language language);

// The time that a rank waited for data that had been produced and were in transit.
struct Interval {
  double begin = 0, end = 0;
};

// Per rank of the trace, in order of time: the communication intervals.
std::vector<std::vector<Interval>> communication_intervals(const StepTrace& trace);

// A step as a text grid: one row per rank, one column per slice of time, plain ASCII.
//
//   one column = 1 s
//   rank 0 | F0 F1 F2 .  .  B0 ...
//
// Letters are those of Traits (kinds.h): F fwd, R refwd, B bwd, I bwd_input, W bwd_weight (each with its microbatch,
// and its stage where a rank has several), L load, P gather_params and free_params, G reduce_grads, A gather_grads,
// T reduce_tied, N norm, O fetch and offload, S step, ~ the rank waited for data in transit, . idle. A
// cell shows the first computation that fills a fifth of it and is in no earlier cell of the row, else what fills
// most of it.

// A slice is the median forward (a forward fills a cell), longer when the rows would not fit into max_width characters.
std::string grid(const StepTrace& trace, int max_width = 160, base::Language language = base::Language::english);

// The rows of the program in unit times: every fwd, refwd, bwd, bwd_input, bwd_weight and step fills one column.
std::string grid(const Program& program);

}  // namespace troika::schedule
