// The schedules: in which order a pp rank computes. Everything else of a program follows from that (emit.h).
#pragma once

#include <vector>

#include "schedule/builder.h"
#include "schedule/instruction.h"

namespace troika::schedule {

// Passes of one pp rank, each over a whole stage (fwd, and bwd or bwd_input and bwd_weight). The microbatch is the
// index within the share, 0 .. count-1, alike on every dp rank. The backwards of a stage ascend.
using Order = std::vector<Instruction>;

inline Instruction pass(Kind kind, int microbatch, int stage) { return {kind, microbatch, stage, -1, 0}; }

// All forwards, then all backwards. Every microbatch of the share is in flight at once.
// Y. Huang et al., "GPipe: efficient training of giant neural networks using pipeline parallelism", NeurIPS 2019; the
// backwards ascend here (as in the gradient sum), which costs no time.
Order order_gpipe(const StepShape& shape, int pp_rank, int count);

// pp-1-r forwards first, then one forward and one backward in turn: at most pp-r microbatches in flight on rank r.
// D. Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021 (PipeDream-Flush).
Order order_1f1b(const StepShape& shape, int pp_rank, int count);

// Rank r holds the stages r, r + pp, ...: forwards in groups of pp microbatches, group by group through all its stages
// in order, backwards likewise through its stages in reverse order; warm_up_interleaved forwards first, then one
// forward and one backward in turn. A last group of fewer microbatches takes the order of a full one with the missing
// ones left out: leaving microbatches out of an order without deadlock gives none.
// D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021.
Order order_interleaved(const StepShape& shape, int pp_rank, int count);
int warm_up_interleaved(const StepShape& shape, int pp_rank);  // 2(pp-r-1) + (virtual_stages-1) pp

// 1F1B with split backwards: on rank r the weight backward of microbatch i stands behind the input backward of i+r, the
// rest at the end, so that every rank holds at most pp microbatches and weight backwards fill what 1F1B idles at the
// end. P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024 (ZB-H1).
Order order_zb_h1(const StepShape& shape, int pp_rank, int count);

}  // namespace troika::schedule
