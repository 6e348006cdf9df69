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
#pragma once

#include <string>

#include "schedule/instruction/program.h"
#include "schedule/trace/trace.h"

namespace troika::schedule {

// A slice is the median forward (a forward fills a cell), longer when the rows would not fit into max_width characters.
std::string grid(const StepTrace& trace, int max_width = 160);

// The rows of the program in unit times: every fwd, refwd, bwd, bwd_input, bwd_weight and step fills one column.
std::string grid(const Program& program);

}  // namespace troika::schedule
