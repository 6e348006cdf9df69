// A lower bound of the step time of a layout, in closed form: for a search that simulates few of many layouts and still finds the
// fastest. Every term is work that one rank does after another, so that no order of instructions avoids it:
//   a rank of a pipeline begins when the stages before its first have each passed one microbatch on; it computes all of its own;
//   unless the two halves of a backward are apart, the last gradient then goes back through the stages before its first;
//   its exchanges of gradients take its link one after the other, and those of the last microbatch begin behind its backward;
//   the norm waits for all ranks, and optimizer and parameters come behind it.
// The bound of bytes: parameters and state; the sum of gradients where a backward has ended while others are in flight; the most
// that the schedule has in flight.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "machine/cluster.h"
#include "plan/job.h"
#include "planner/layout.h"
#include "planner/step_costs.h"
#include "shape/shard_plan.h"
#include "shape/layout.h"

namespace troika::planner {

class Bounds {
 public:
  // `settings` resolved for some layout, with its vocabulary. Both must outlive it. `data`: as jobs of the layouts have them.
  Bounds(const config::Settings& settings, const plan::DataFacts& data, const machine::Placement& placement);

  double step_seconds(const Layout& layout);
  std::int64_t memory_bytes(const Layout& layout);             // with the program
  std::int64_t available_bytes() const { return available_; }  // to the rank that has most

 private:
  struct Elements {                                              // of one tp rank's buffers
    std::int64_t embedding = 0, block = 0, head = 0, table = 0;  // table: a tied one, on the head's rank
  };
  // Where the blocks are: alike for all layouts of so many stages.
  struct RankStages {
    int blocks = 0, blocks_before = 0;  // before: in the stages before its first
    bool embedding = false, head = false;
  };
  using Key = std::tuple<int, int, std::int64_t, config::Precision, bool>;  // tp, cp, micro, precision, selective
  static Key key_of(const Layout& l);

  // The microbatches of such layouts, as jobs have them.
  struct Microbatches {
    shape::MicrobatchRows usual, largest;
    std::int64_t of_rank = 1, in_program = 1;
  };
  const Microbatches& microbatches(const Layout& l);
  PassShape pass_shape(const Layout& l, const shape::MicrobatchRows& rows) const;
  const ModelSeconds& seconds(const Layout& l);
  const shape::SavedBytes& saved(const Layout& l);
  const Elements& elements(int tp);
  double replica_bytes_per_second(const Layout& l);
  const std::vector<RankStages>& stages(int pp, int virtual_stages);
  shape::SumShape sum_of(const Layout& l, int uses);

  std::int64_t elements_of(const Layout& l, const RankStages& rank);
  double sent_bytes(const Layout& l, std::int64_t elements);

  const config::Settings& settings_;
  const plan::DataFacts data_;
  const shape::OptimizerShape optimizer_;
  const machine::Placement& placement_;
  machine::Rates rates_;  // of the fastest rank, number by number
  std::int64_t available_ = 0, program_ = 0;
  shape::Trained trained_;
  int segments_ = 0;
  bool accelerators_ = false, trains_ = true;  // trains_: all of it; else backwards and sums count as nothing
  std::map<std::tuple<int, int, std::int64_t, int, config::Schedule>, Microbatches> microbatches_;  // by dp, cp, micro, zero, schedule
  std::map<Key, ModelSeconds> seconds_;
  std::map<Key, shape::SavedBytes> saved_;
  std::map<int, Elements> elements_;
  std::map<std::tuple<int, int, int, int>, double> replica_rates_;  // by dp, pp, tp, cp
  std::map<std::pair<int, int>, std::vector<RankStages>> stages_;
};

}  // namespace troika::planner
