// Activations and gradients on their way between the stages of a pipeline.
#pragma once

#include <map>
#include <string>

#include "comm/channel.h"
#include "executor/integrity.h"
#include "executor/observer.h"
#include "executor/recompute_audit.h"
#include "schedule/check/dependencies.h"
#include "sharding/gradient_sum.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace troika::executor {

// One rank's thread. Errors of the channel pass through.
class PipelineMessages {
 public:
  // `rank` is one of the program's grid. `ledger` counts what is on its way. `integrity` is told of all that is sent and taken,
  // null: nobody is; `audit` of all that is sent.
  PipelineMessages(const schedule::Program& program, int rank, comm::Channel& pp, tensor::Ledger& ledger,
                   Observer& observer, Integrity* integrity, RecomputeAudit& audit)
      : program_(program),
        arrivals_(program, rank),
        pp_(pp),
        ledger_(ledger),
        observer_(observer),
        integrity_(integrity),
        audit_(audit) {}

  void send(const schedule::Instruction& i, const tensor::Tensor& tensor);     // send_act, send_grad
  void receive(const schedule::Instruction& i, const tensor::Tensor& buffer);  // recv_act, recv_grad: only posts
  // Waits for what a recv of this kind, microbatch and stage posted; `waiting` is the instruction that needs it. Lets
  // go of the sends that this message proves to have arrived.
  tensor::Tensor take(schedule::Kind kind, const schedule::Instruction& waiting);
  void finish_sends(const schedule::Instruction& waiting);  // all that are left
  // Both ends of the tied embedding add the other's sum to theirs.
  void exchange_tied(const schedule::Instruction& i, sharding::GradientSum& sum, int peer_stage);

 private:
  struct Message {
    schedule::Instruction instruction;
    tensor::Tensor tensor;
    comm::Transfer transfer;
    double begin_seconds = 0;
  };
  int pp_rank_of(int stage) const { return program_.pp_rank_of_stage.at(static_cast<std::size_t>(stage)); }
  void finish(Message& message, const schedule::Instruction& waiting);
  void finish_unanswered(const schedule::Instruction& waiting);

  const schedule::Program& program_;
  const schedule::KnownArrivals arrivals_;
  comm::Channel& pp_;
  tensor::Ledger& ledger_;
  Observer& observer_;
  Integrity* const integrity_;
  RecomputeAudit& audit_;
  std::map<std::string, Message> sends_, receives_;  // by instruction text
};

}  // namespace troika::executor
