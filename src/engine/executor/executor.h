// Runs one rank's list of instructions, step after step: of training, or of an evaluation over the same units. It knows
// no schedule and no parallelism: what to do in which order is the program's business. Activations are in
// in_flight_activations.h, messages between stages in pipeline_messages.h, those between replicas in replica_traffic.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "executor/in_flight_activations.h"
#include "executor/integrity.h"
#include "executor/observer.h"
#include "executor/pipeline_messages.h"
#include "executor/recompute_audit.h"
#include "executor/replica_traffic.h"
#include "executor/step_facts.h"
#include "mesh/mesh.h"
#include "optimizer/gradient_scaling.h"
#include "schedule/instruction/program.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::executor {

// The groups this rank belongs to. Group ranks of `pp` are pp ranks, of `replicas` replica indices (mesh/mesh.h).
struct Channels {
  comm::Channel& world;
  comm::Channel& pp;
  comm::Channel& replicas;
};

// The place of the rank.
struct Place {
  int world_rank = 0;
  mesh::Shape shape;
  mesh::Coordinate at;
};

// This rank's rows of one of a step's microbatches, on the device.
using TokenSource = std::function<model::Tokens(std::int64_t step, int microbatch)>;

struct StepSettings {
  std::int64_t step = 1;          // counts from 1
  std::int64_t update = 1;        // of the optimizer, counts from 1; behind `step` by the steps that were skipped
  double lr = 0;
  double clip_norm = 0;        // 0: none
  // Which of the step's microbatches each of the program's computes (plan::distribute); empty: that of its number. Equal on all ranks.
  std::vector<int> microbatches;
  double loss_scale = 1;       // of the backward passes; the results below are without it
  std::vector<int> exponents;  // optimizer::GradientExponents, in the order of Setup's names; empty: the first ones
  Requests requests;           // of this rank
  tensor::Event saved;         // the update changes parameters and state behind it
  Pass pass = Pass::only;      // in one of an audit nothing is updated
};

struct StepResult {
  double loss = 0;           // mean over the step's loss tokens
  std::int64_t tokens = 0;   // loss tokens of the step, all ranks
  double gradient_norm = 0;  // before clipping
  // Nothing was updated unless both hold, alike on all ranks: loss and gradients are numbers; all gradients were within
  // their exponents. Out of range, loss and tokens are true and the norm is not; the step is to be run again.
  bool finite = true, in_range = true;
  std::vector<int> gradient_exponents;  // of the largest gradient of each parameter, or no_gradient
  double awaited_seconds = 0;           // that the rank's thread waited for its device, all that it asked for being queued
  Requests requests;                    // of all ranks
  std::int64_t memory_bytes = 0;        // the most that any rank held at once so far, of all four uses of the ledger
  std::vector<double> losses;           // of an evaluation: the sum of each microbatch's token losses
};

struct Setup {
  Place place;
  StageBoundary boundary;
  shape::SavedActivations activations = shape::SavedActivations::all;
  TokenSource load, shape;  // with ids and targets; without, for stages that read neither, in no order and any number of times
  tensor::Streams* streams = nullptr;  // of the rank's device; must outlive the executor
  // The groups inside segments, which tell this executor's observer how long they wait while it runs; null: nobody.
  sharding::TensorGroup* tensor_group = nullptr;
  sharding::ContextGroup* context_group = nullptr;
  std::vector<std::string> parameter_names;  // of all that is trained, in name order; empty for an evaluation
  optimizer::Checksums checksums = optimizer::Checksums::off;  // integrity.h
};

class Executor {
 public:
  // `units` of the program's segments on this rank. References must outlive the executor. BugError when the program has
  // an instruction that nobody here can run.
  Executor(const schedule::Program& program, Setup setup, Channels channels, const Units& units, tensor::Ledger& ledger,
           Observer& observer);

  // One optimizer step or one round of an evaluation, which leaves of the result loss, tokens, losses and memory_bytes
  // and takes only `step` of the settings. Errors carry the instruction, the step and the rank.
  StepResult run(const StepSettings& settings);

  // With checksums, between steps: PeerError when state of the optimizer has changed by itself.
  void check_state() const;

  // Collective over the replicas: after the values that they hold were set from outside, everybody has all of them.
  void publish_parameters() { replicas_.publish(); }

 private:
  using Instruction = schedule::Instruction;
  using Handler = void (Executor::*)(const Instruction&);
  static const std::map<schedule::Kind, Handler>& handlers();

  void listen_to_groups();
  void begin_sums();
  int exponent_of(std::size_t parameter) const;
  struct OwnFacts {                          // of this rank; on the host
    std::map<int, kernels::LossSum> losses;  // by the step's microbatch
    tensor::Tensor squares, largest;         // of gradients; undefined in an evaluation
  };
  OwnFacts read_facts();
  void check_channels();
  void note_largest(const tensor::Tensor& largest, StepFacts* facts) const;
  void judge_range(const StepFacts& facts);
  void execute(const Instruction& instruction);
  bool is_absent(const Instruction& i) const;
  model::Tokens shape_of(int microbatch) const;
  void load(const Instruction& i);
  void forward(const Instruction& i);
  void recompute(const Instruction& i) { in_flight_.recompute(i); }
  void backward(const Instruction& i);
  void backward_input(const Instruction& i);
  void backward_weight(const Instruction& i) { in_flight_.backward_weight(i); }
  void send_activation(const Instruction& i) { messages_.send(i, in_flight_.take_output(i)); }
  void send_gradient(const Instruction& i) { messages_.send(i, in_flight_.take_input_gradient(i)); }
  void receive(const Instruction& i);
  void gather_parameters(const Instruction& i) { replicas_.gather_parameters(i); }
  void free_parameters(const Instruction& i) { replicas_.free_parameters(i); }
  void reduce_gradients(const Instruction& i) { replicas_.reduce_gradients(i); }
  void gather_gradients(const Instruction& i) { replicas_.gather_gradients(i); }
  void reduce_tied(const Instruction& i);
  void fetch(const Instruction& i);
  void offload(const Instruction& i);
  void norm(const Instruction& i);
  void step(const Instruction& i);
  void loss(const Instruction& i);
  void finish();

  tensor::Tensor stage_input(const Instruction& i);
  tensor::Tensor output_gradient(const Instruction& i);
  void share_facts(StepFacts& facts, const OwnFacts& own, const Instruction& i);
  template <class Visit>
  void each_bucket(const Instruction& i, Visit visit);

  const schedule::Program& program_;
  const std::vector<Instruction>& instructions_;
  const Setup setup_;
  const Channels channels_;
  const Units& units_;
  tensor::Ledger& ledger_;
  Observer& observer_;
  const std::unique_ptr<Integrity> integrity_;  // null: without checksums
  RecomputeAudit audit_;
  PipelineMessages messages_;
  ReplicaTraffic replicas_;
  InFlightActivations in_flight_;

  const Instruction* current_ = nullptr;
  StepSettings settings_;
  StepResult result_;
  double gradient_scale_ = 1;
  int scale_bits_ = 0;  // the loss scale is at most 2^scale_bits
};

}  // namespace troika::executor
