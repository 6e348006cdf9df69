// Microbatches between their forward and the end of their backward: what each segment keeps, and the tensors at the
// boundaries of the stage. Without a backward nothing of a microbatch is left once its forward has given its output on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "executor/replica_traffic.h"
#include "model/segment.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace troika::executor {

// What passes between stages: rows of width D in the compute dtype. `loss_rows`, `largest_M`: of model::Tokens.
struct StageBoundary {
  std::int64_t D = 1, loss_rows = 1, largest_M = 1;
  tensor::Dtype dtype = tensor::Dtype::fp32;
};

// One rank's thread. Instructions without a segment run all segments of their stage.
class InFlightActivations {
 public:
  using Instruction = schedule::Instruction;
  struct Options {
    StageBoundary boundary;
    shape::SavedActivations activations = shape::SavedActivations::all;
    std::function<model::Tokens(int microbatch)> shape;  // of one that is not loaded here
  };
  InFlightActivations(const schedule::Program& program, const std::vector<Instruction>& instructions,
                      const Units& units, ReplicaTraffic& replicas, Options options, tensor::Ledger& ledger);

  // The facts that the tokens of all microbatches of a step share (model::Tokens).
  struct Step {
    double loss_scale = 1;
    std::int64_t step = 0;
  };
  void begin_step(const Step& step) { step_ = step; }
  void load(int microbatch, model::Tokens tokens);
  const model::Tokens& tokens(int microbatch);

  // The first segment of a stage takes over the stage's input, the last leaves its output. `boundary_mD` of forward:
  // the received input, of backward the received gradient; called only for the segment at that boundary.
  using BoundarySource = std::function<tensor::Tensor()>;
  void forward(const Instruction& i, const BoundarySource& boundary_mD);
  void recompute(const Instruction& i);
  void backward(const Instruction& i, const BoundarySource& boundary_mD);
  void backward_input(const Instruction& i, const BoundarySource& boundary_mD);
  void backward_weight(const Instruction& i);

  // A pass over a microbatch that is absent: waits for what a pass waits for, and its gradient is 0.
  void leave_out(const Instruction& i);

  tensor::Tensor take_output(const Instruction& i);          // of the stage, to be sent or handed on
  tensor::Tensor take_input_gradient(const Instruction& i);  // of the stage
  // By microbatch, on the last stage; on the device (kernels::read_loss).
  const std::map<int, tensor::Tensor>& losses() const { return losses_; }

  void clear();

 private:
  struct SegmentActivations {
    tensor::Tensor input_mD;  // where it is recomputed
    std::unique_ptr<model::Saved> saved;
  };
  struct StageActivations {  // one microbatch on one stage
    tensor::Tensor x_mD, dy_mD;  // what the next segment of the forward, of the backward reads
    std::map<int, SegmentActivations> segments;
    std::int64_t booked_bytes = 0;
  };
  using Key = std::pair<int, int>;  // microbatch, stage or segment

  template <class Visit>
  void descend(const Instruction& i, Visit visit);
  void forward_segment(const Instruction& i, int segment, StageActivations& held);
  void input_segment(const Instruction& i, int segment, StageActivations& held, const BoundarySource& boundary_mD);
  void weight_segment(const Instruction& i, int segment, StageActivations& held);
  void mark(model::Tokens& tokens) const;  // with the step
  void book(StageActivations& held);
  void forget(const Instruction& i);
  SegmentUnit& ready(int segment, const Instruction& i);

  const schedule::Program& program_;
  const Units& units_;
  ReplicaTraffic& replicas_;
  const Options options_;
  tensor::Ledger& ledger_;
  std::set<Key> recomputed_;  // (microbatch, segment): forward keeps only the input
  Step step_;
  std::map<int, model::Tokens> tokens_;
  std::map<Key, StageActivations> held_;
  std::map<int, tensor::Tensor> losses_;
};

}  // namespace troika::executor
