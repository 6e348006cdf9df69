// The facts all ranks need before the optimizer steps, and of an evaluation, gathered by one exchange of integers over the
// world: every number has one rank that contributes its bits, all others contribute 0, and of magnitudes the largest counts,
// so no rounding and no order is involved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "executor/bucket.h"
#include "kernels/grid.h"
#include "kernels/output_loss.h"
#include "tensor/tensor.h"

namespace troika::executor {

struct FactCounts {
  int microbatches = 1, cp = 1, tp = 1, world = 1;
  int checksums = 0;  // of every rank
};

// The requests to all ranks after this step: the number of ranks that make each.
struct Requests {
  std::int64_t stop = 0, save = 0;
};

class StepFacts {
 public:
  StepFacts(const FactCounts& counts, const std::vector<std::string>& parameter_names);

  // Each of these by exactly one rank of the world per microbatch and cp rank, or per parameter and tp rank.
  void set_loss(int microbatch, int cp_rank, const kernels::LossSum& loss);
  void set_squares(int tp_rank, const std::map<std::string, double>& squares_by_name);
  void note_largest(const std::string& parameter, kernels::MagnitudeBits largest);  // of a gradient, by any rank
  void set_requests(const Requests& requests);                                      // by any rank; summed
  void set_memory(int world_rank, std::int64_t bytes);                              // by that rank
  // To one of a rank's checksums, by any rank; what all add is summed modulo 2^64.
  void add_checksum(int world_rank, int which, std::int64_t value);

  void exchange(comm::Channel& world);

  // After exchange, the same on every rank.
  std::vector<double> losses() const;  // by microbatch, each the sum over its cp ranks in order
  double loss_sum() const;             // of these, in order
  std::int64_t tokens() const;
  // Root of the sum over parameters in name order, each the sum over tp ranks.
  double gradient_norm() const;
  std::vector<kernels::MagnitudeBits> largest_gradients() const;  // by parameter
  Requests requests() const;
  std::int64_t largest_memory() const;
  std::int64_t checksum(int world_rank, int which) const;

 private:
  std::size_t loss_at(int microbatch, int cp_rank) const;
  std::size_t square_at(std::size_t parameter, int tp_rank) const;
  double number(std::size_t index) const;
  std::size_t index_of(const std::string& parameter) const;

  const FactCounts counts_;
  const std::vector<std::string>& names_;
  const std::size_t losses_;           // how many
  std::vector<std::int64_t> largest_;  // magnitudes of gradients, by parameter
  std::vector<std::int64_t> values_;   // losses, token counts, squares (bits of doubles), bytes per rank, requests
  std::vector<std::int64_t> checksums_;
};

// The squares that the gradient norm is made of, as far as one group of replicas knows them.
// Chunk squares of the gradients that this rank holds the sum of, one buffer after the other; fp64, on the device.
tensor::Tensor own_squares(const Units& units);

// Sums of squares of the gradients of the trained parameters whose first holder is `tp_rank`, by name: on replica 0 of
// all elements this tp rank holds, on the others empty. `own`: own_squares, on the host. Collective over the replicas,
// after the reductions; chunks of a parameter are added in one order, so the sums do not depend on who holds them.
// `on_wait` hears of waiting for replicas. Errors of the channel pass through.
std::map<std::string, double> gradient_squares(const Units& units, const tensor::Tensor& own, comm::Channel& replicas,
                                               int tp_rank, const sharding::OnWait& on_wait);

}  // namespace troika::executor
