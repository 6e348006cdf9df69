// Finds what changed by itself, in memory, in a processor or on the way: sums of the bits that one step leaves are compared with those that the next one
// finds, replicas are compared with each other, and what a stage receives with what was sent. Costs one pass over what travels
// between stages, one over a part of the parameters per step, and nothing else beside the optimizer's own sums.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/language.h"
#include "comm/channel.h"
#include "config/choices.h"
#include "executor/bucket.h"
#include "executor/message_tags.h"
#include "executor/step_facts.h"
#include "mesh/mesh.h"
#include "optimizer/optimizer.h"
#include "tensor/tensor.h"

namespace troika::executor {

// train.checksums: by themselves where the memory is a processor's, whose passes they cost little beside.
optimizer::Checksums checksums_for(config::OnOff stated, const tensor::Device& device);

// One rank's thread. Whatever is found is a PeerError that names rank, tensor and step, before this step's update where it is
// not the update that finds it.
class Integrity {
 public:
  static constexpr int checksums = 5;  // of every rank, in StepFacts

  Integrity(const mesh::Shape& shape, int world_rank, const Units& units, comm::Channel& replicas);

  void begin_step(std::int64_t step);

  // Messages between stages: complete, and not yet changed. `pp_rank`: the sender's.
  void sent(StageMessage content, int microbatch, const tensor::Tensor& tensor);
  void received(StageMessage content, int microbatch, int pp_rank, const tensor::Tensor& tensor);

  // Around the exchange of the step's facts. Collective where replicas differ: then over them.
  void tell(StepFacts* facts);
  void compare(const StepFacts& facts);

  // Reports a fault that the optimizer found.
  [[noreturn]] void report(const Bucket& bucket, const optimizer::StateFault& fault) const;
  // Between steps, all of the optimizers' state: before it is saved.
  void check_state() const;

 private:
  enum Which { activations, gradients, state, own_values, all_values };

  std::vector<Bucket*> trained_buckets() const;
  Bucket* replicated_bucket_of_step() const;
  void check_frozen(const Bucket& bucket);
  std::int64_t state_sum() const;
  void compare_messages(const StepFacts& facts) const;
  void compare_state(const StepFacts& facts) const;
  void compare_values(const StepFacts& facts) const;
  [[noreturn]] void fail(const base::Text& what) const;
  [[noreturn]] void name_different_state() const;
  [[noreturn]] void name_different_values() const;

  const mesh::Shape shape_;
  const int world_rank_;
  comm::Channel& replicas_;
  std::vector<Bucket*> buckets_;                               // all, in the order of the segments
  std::map<const Bucket*, std::vector<std::uint32_t>> fixed_;  // of what is frozen, by slot, as first seen
  std::int64_t step_ = 0;
  std::int64_t sent_[2] = {0, 0};            // activations, gradients
  std::map<int, std::int64_t> received_[2];  // by the sender's world rank
};

}  // namespace troika::executor
