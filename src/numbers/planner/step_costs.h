// The seconds of a step's instructions on machines, from shapes and rates alone.
#pragma once

#include <vector>

#include "machine/cluster.h"
#include "planner/estimate.h"
#include "schedule/simulate/simulator.h"
#include "shape/segment_costs.h"
#include "shape/sum_shape.h"

namespace troika::planner {

// Seconds of one pass of one microbatch through one segment, on one rank.
struct PassSeconds {
  double compute = 0;
  double tensor = 0, context = 0;  // messages of its tp and cp groups, which nothing overlaps
  double sent_bytes = 0;           // by these messages
  double all() const { return compute + tensor + context; }
};

struct SegmentSeconds {
  PassSeconds forward, input, weight;
};

// Seconds of a step on one rank, beside its passes.
struct UpdateSeconds {
  double norm = 0;             // squares of all its gradients
  std::vector<double> steps;   // by segment: the optimizer on what the rank keeps of it
  std::vector<double> copies;  // by segment: its state from where it is offloaded, or back
};

// Segments of a kind cost alike: the embedding, blocks of each kind, the head.
struct ModelSeconds {
  SegmentSeconds embedding, head;
  std::vector<SegmentSeconds> blocks;  // by kind
  std::vector<std::size_t> of_block;   // which of them, by layer
  const SegmentSeconds& of(int segment) const {
    if (segment == 0) return embedding;
    const auto layer = static_cast<std::size_t>(segment - 1);
    return layer < of_block.size() ? blocks[of_block[layer]] : head;
  }
};

// The inputs that decide them, of the first rank of the groups.
struct PassShape {
  const config::ModelSettings& model;
  shape::MicrobatchShape microbatch;
  int cp = 1;
  shape::SavedActivations saved = shape::SavedActivations::all;
  const shape::Trained& trained;
};
PassShape pass_shape(const plan::Job& job, shape::ComputedBy by);

// The costs of the passes for a rank with these rates, without that of a weight gradient as a leaf of the sum. `tensor`, `context`:
// the links of its groups; not read where there are none.
ModelSeconds model_seconds(const PassShape& shape, const machine::Rates& rates, const machine::Link& tensor,
                           const machine::Link& context);

// Seconds of one leaf of so many elements: rounded to integers and added to the rank's own sum.
double leaf_seconds(std::int64_t elements, const shape::SumShape& sum, const machine::Rates& rates);

// The links that the groups of a layout use on these machines.
class GroupLinks {
 public:
  GroupLinks(const mesh::Shape& shape, const machine::Placement& placement) : shape_(shape), placement_(placement) {}

  machine::Link tensor() const;  // what one rank has of it while all ranks of a host send
  machine::Link context() const;
  machine::Link between_ranks(int from, int to) const;
  // A replica's share of the links to the others while all of a stage exchange, in the slowest stage; {} with one replica.
  machine::Link replicas() const;
  double world(double bytes) const;

 private:
  bool on_one_host(int first_rank, int end_rank) const;
  machine::Link strided(int stride, int count) const;

  const mesh::Shape shape_;
  const machine::Placement& placement_;
};

class StepCosts {
 public:
  // Both must outlive it.
  StepCosts(const Column& column, const machine::Placement& placement);

  schedule::CostModel model() const;  // refers to this
  PassSeconds pass_of(int grid_rank, const schedule::Instruction& i) const;

 private:
  double update_of(int grid_rank, const schedule::Instruction& i) const;  // of step and copies of state
  double exchange_seconds(const schedule::Instruction& i, const std::vector<int>& ranks) const;

  const Column& column_;
  const machine::Placement& placement_;
  const GroupLinks links_;
  const machine::Link replicas_;
  std::vector<ModelSeconds> models_;
  std::vector<std::size_t> model_index_;     // by grid rank
  std::vector<std::vector<double>> leaves_;  // by grid rank and segment: seconds of a leaf
  std::vector<UpdateSeconds> updates_;       // by grid rank
  std::vector<double> stream_;               // by grid rank: bytes per second of sums
};

}  // namespace troika::planner
