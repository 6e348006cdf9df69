// The proof that the lanes' programs fit together, done before anything runs.
//
// Rules about waiting, for check(), simulate() and the executor alike:
// - Sends and receives only start a transfer; it completes once both ends have started it (a rendezvous).
// - fwd waits for its recv_act; bwd and bwd_input for their recv_grad; all computations for the gathers of their stage
//   that were not freed since; backwards for the fetch of their microbatch, fetch for its offload.
// - reduce_grads waits for the dp lanes of the stage, reduce_tied for the lanes of the first and the last stage of one
//   dp rank, norm for all lanes and for all sends of its own lane.
// - Neighbouring stages on one lane hand over without messages.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/instruction.h"

namespace troika::schedule {

struct Bounds {
  std::vector<int> max_in_flight;         // per lane; empty: no bound
  std::vector<std::int64_t> saved_bytes;  // per stage: what one forward keeps for its backward; empty: 0
  std::vector<std::int64_t> kept_bytes;   // per stage: what a forward keeps when a refwd will follow; empty: 0
};

struct Report {
  // Microbatches (of each stage on the lane) between forward and the end of backward.
  std::vector<int> max_in_flight;  // per lane
  // Their saved bytes without what is offloaded, plus received buffers from posting to use. Send buffers are not
  // counted: how long they live depends on time.
  std::vector<std::int64_t> peak_in_flight_bytes;  // per lane
};

// Throws BugError naming lane and instruction when: a lane is deadlocked; a send or receive has no partner; a field is
// missing or an instruction sits on the wrong lane; something stands twice, too early, or not at all (load, receive,
// forward, backward halves, gather, free, offload, fetch, reductions, norm, step); the weight backwards of a stage do
// not ascend; more microbatches are in flight than the bound.
Report check(const Program& program, const Bounds& bounds);

}  // namespace troika::schedule
