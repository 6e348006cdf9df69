// The proof that the ranks' programs fit together, done before anything runs.
//
// Rules about waiting, for check(), simulate() and the executor alike (which kind waits for what: kinds.h):
// - Sends and receives only start a transfer; it completes once both ends have started it (a rendezvous). Exchanges
//   (gather_params, reduce_grads, gather_grads, reduce_tied, norm, loss) begin once all their ranks have come.
// - fwd waits for its recv_act; bwd and bwd_input for their recv_grad; fwd, refwd, bwd and bwd_input for the
//   gather_params of their segments.
// - gather_params, fetch and offload wait for nothing and only start. reduce_grads waits for all those before it on its
//   rank, then starts: one buffer's gradients are under way at a time. gather_grads waits for the reduce_grads of its
//   segments, then starts.
// - bwd and bwd_weight wait for every reduce_grads of a microbatch (ZeRO 2, 3) on their rank: a built program has one leaf
//   of a gradient at a time. A bwd waits between its halves, which simulate() takes to be equal.
// - reduce_tied waits for the reduce_grads of the tied segment on its rank (the embedding, or the head on another rank),
//   norm for all sends and all reduce_grads of its rank; both block until their exchange is complete. They meet the
//   ranks of the first and the last stage of one dp rank, or all ranks.
// - step waits for gather_grads and fetch of its segments.
// - A send_act for which no gradient will come back (of a stage without a backward, or in an evaluation) waits for the
//   one before it on its rank, then starts, so that one is under way at a time; loss waits for the last one and blocks
//   until its exchange, which meets all ranks, is complete.
// - The end of a rank waits for everything it started.
// - reduce_grads, gather_grads and gather_params meet the dp ranks of their stage. The n-th of a name on one rank
//   meets the n-th on the others, in ZeRO 2, 3 of whatever microbatches.
// - Neighbouring stages on one rank hand over without messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedule/instruction/program.h"

namespace troika::schedule {

// A program breaks a rule. Whoever reads it from a file makes a DataError of the text; of a built one it is a bug.
class UnsoundProgram : public base::BugError {
 public:
  explicit UnsoundProgram(const base::Text& text) : BugError(text.english), text_(text) {}
  const base::Text& text() const { return text_; }

 private:
  base::Text text_;
};

struct Bounds {
  std::vector<int> max_in_flight;             // per rank; empty: no bound
  std::vector<std::int64_t> saved_bytes;      // per segment: what one forward keeps for its backward; empty: 0
  std::vector<std::int64_t> half_bytes;       // per segment: what is left of it after bwd_input; empty: all
  std::vector<std::int64_t> kept_bytes;       // per segment: its input, kept when a refwd will follow; empty: 0
  std::vector<std::int64_t> parameter_bytes;  // per segment, gathered; empty: 0
};

struct Report {  // all per rank
  // Microbatches (of each stage on the rank) between their first forward and the end of their last weight backward.
  std::vector<int> max_in_flight;
  // As in_flight.h counts them: data kept by segments, data between segments and stages, and messages.
  std::vector<std::int64_t> peak_activation_bytes;
  std::vector<std::int64_t> peak_gathered_bytes;  // ZeRO 3: parameters between gather_params and free_params
};

// Any program, also one read from a file: never crashes or hangs. Throws UnsoundProgram naming rank, index and instruction
// when:
// - sizes of the program do not fit together or exceed the limits of program.h; a field is missing, out of range or
//   too many; an instruction sits on the wrong rank or its microbatch in another share;
// - a send, receive or exchange has no partner, exchanges of the dp ranks come in another order, or ranks deadlock;
// - a load, receive, forward, refwd, backward half, send, reduction, norm or step appears twice, too early or not at
//   all; segments of a stage are out of order;
// - ZeRO 3: a use has no gathered parameters, a gather is doubled, unused or not freed before norm;
// - reduce_grads comes before the weight backwards it sums, or in the form of another ZeRO stage; ZeRO 2, 3: a
//   segment's next weight backward comes before the reduction of its last, also where embedding and head of one rank
//   share a table; in ZeRO 0, 1 that table is reduced before both uses are complete; gather_grads exist anywhere but in ZeRO 0
//   with several replicas, gather_params after step anywhere but in ZeRO 1, 2 with several replicas, or are not
//   complete there; gather_grads or norm come before reduce_tied;
// - an evaluation has a backward, a reduction, norm, step or copies, or anything behind loss, or a training loss;
// - a segment below first_trained has a backward or what follows from one, or a gradient goes to a stage without one;
// - anything but fetch, step, offload and gather_params follows norm; a segment is fetched and not offloaded again, or
//   the reverse;
// - more microbatches are in flight than the bound.
Report check(const Program& program, const Bounds& bounds);

// The faults of everything but the ranks, as a sentence with the numbers; empty when there are none.
base::Text wrong_sizes(const Program& program);

// UnsoundProgram when sizes are wrong, ranks are too many or too few, or an instruction lacks a field, has one too many, or
// names a microbatch, stage or segment that its rank does not have.
void check_fields(const Program& program);

// Whether the messages of a program that has passed check() can be paired by their order alone, as NCCL pairs them:
// empty when between every two ranks, in each direction, the receives of activations are started in the order of their
// sends, and so are those of gradients and of tied tables; else a sentence that names the first receive that is not.
base::Text receive_out_of_order(const Program& program);

// UnsoundProgram "step program, grid rank 1, instruction 7 'bwd 2.1': <reason>"
[[noreturn]] void refuse_at(const Program& program, std::size_t rank, std::size_t index, const base::Text& reason);

}  // namespace troika::schedule
