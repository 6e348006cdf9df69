// Runs one rank's list of instructions, step after step. It knows no schedule and no parallelism: what to do in which
// order is the program's business.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/channel.h"
#include "executor/observer.h"
#include "executor/stage_unit.h"
#include "schedule/instruction.h"
#include "tensor/ledger.h"

namespace troika::executor {

// The groups this rank belongs to. Group ranks of `pp` are pp ranks, of `dp` dp ranks.
struct Channels {
  comm::Channel& world;
  comm::Channel& pp;
  comm::Channel& dp;
};

// Where the rank stands.
struct Place {
  int world_rank = 0;
  int pp_rank = 0;
  int dp_rank = 0;
};

// What passes between stages: one microbatch's activation, rows = B * T.
struct Border {
  std::int64_t B = 1, T = 1, D = 1;
};

// Tokens of a microbatch on the device.
using TokenSource = std::function<model::Tokens(std::int64_t step, int microbatch)>;

struct StepSettings {
  std::int64_t step = 1;  // counts from 1
  double lr = 0;
  double clip_norm = 0;   // 0: none
  std::int64_t wish = 0;  // summed over all ranks into StepResult::wishes: a rank asks all to stop after this step
};

struct StepResult {
  double loss = 0;           // mean over the step's loss tokens
  std::int64_t tokens = 0;   // loss tokens of the step, all ranks
  double gradient_norm = 0;  // before clipping
  std::int64_t wishes = 0;
  std::int64_t memory_bytes =
      0;  // the most that any rank held at once so far: parameters, gradients, state, activations
};

class Executor {
 public:
  // `units` by stage, those this rank holds. References must outlive the executor. `parameter_names` are all parameters
  // of the model in name order. BugError when the program has an instruction that nobody here can run.
  Executor(const schedule::Program& program, Place place, Channels channels,
           std::map<int, std::unique_ptr<StageUnit>>& units, Border border, TokenSource source,
           std::vector<std::string> parameter_names, tensor::Ledger& ledger, Observer& observer);

  // One optimizer step. Errors carry the instruction, the step and the rank.
  StepResult run(const StepSettings& settings);

 private:
  // One microbatch on one stage of this rank.
  struct Flight {
    at::Tensor x_MD, y_MD, dy_MD, dx_MD;
    model::StageResult result;
    std::int64_t booked_bytes = 0;
  };
  struct Message {
    schedule::Instruction instruction;
    at::Tensor tensor;
    comm::Transfer transfer;
    double begin_seconds = 0;
  };
  using Key = std::pair<int, int>;  // microbatch, stage
  using Handler = void (Executor::*)(const schedule::Instruction&);
  static const std::map<schedule::Kind, Handler>& handlers();

  void execute(const schedule::Instruction& instruction);
  void load(const schedule::Instruction& i);
  void forward(const schedule::Instruction& i);
  void forward_again(const schedule::Instruction& i);
  void backward(const schedule::Instruction& i);
  void backward_input(const schedule::Instruction& i);
  void backward_weight(const schedule::Instruction& i);
  void send_activation(const schedule::Instruction& i);
  void receive_activation(const schedule::Instruction& i);
  void send_gradient(const schedule::Instruction& i);
  void receive_gradient(const schedule::Instruction& i);
  void reduce_gradients(const schedule::Instruction& i);
  void reduce_tied(const schedule::Instruction& i);
  void norm(const schedule::Instruction& i);
  void step(const schedule::Instruction& i);

  at::Tensor exchange_tied(const schedule::Instruction& i, const at::Tensor& mine, int peer_stage);
  void start_send(const schedule::Instruction& i, const at::Tensor& tensor, int to_stage);
  void start_receive(const schedule::Instruction& i, int from_stage);
  at::Tensor received(const schedule::Instruction& i);  // waits
  void finish(Message& message, const schedule::Instruction& waiting);
  void finish_sends(const schedule::Instruction& waiting);
  const model::Tokens& tokens(int microbatch);
  void book(Flight& flight);
  void drop_step_state();
  StageUnit& unit(int stage) { return *units_.at(stage); }

  const schedule::Program& program_;
  const std::vector<schedule::Instruction>& instructions_;
  const Place place_;
  const Channels channels_;
  std::map<int, std::unique_ptr<StageUnit>>& units_;
  const Border border_;
  const TokenSource source_;
  const std::vector<std::string> parameter_names_;
  tensor::Ledger& ledger_;
  Observer& observer_;
  std::set<Key> recomputed_;  // forward keeps only its input; refwd follows

  // One step's state, empty between steps.
  StepSettings settings_;
  StepResult result_;
  double gradient_scale_ = 1;
  std::map<int, model::Tokens> tokens_;
  std::map<Key, Flight> flights_;
  std::map<int, kernels::LossSum> losses_;  // by microbatch, on the last stage
  std::vector<Message> sends_;
  std::map<std::string, Message> receives_;  // by instruction text
};

}  // namespace troika::executor
