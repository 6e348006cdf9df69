// The traffic between a rank and the other holders of its parameters: gradients, their totals, parameters.
#pragma once

#include <vector>

#include "comm/channel.h"
#include "executor/bucket.h"
#include "executor/message_tags.h"
#include "executor/observer.h"
#include "schedule/instruction/program.h"
#include "tensor/tensor.h"

namespace troika::executor {

// One rank's thread. Instructions without a segment mean all segments of their stage. Errors of the channel pass
// through.
class ReplicaTraffic {
 public:
  ReplicaTraffic(const schedule::Program& program, comm::Channel& replicas, const Units& units, Observer& observer)
      : program_(program), replicas_(replicas), units_(units), observer_(observer) {}

  // The gradients of one buffer are on their way at a time: the next waits for those before it, which bounds what is
  // received.
  void reduce_gradients(const schedule::Instruction& i);
  void finish_reductions(const schedule::Instruction& waiting);  // all of them
  void finish_reductions(const SegmentUnit& unit, const schedule::Instruction& waiting);
  // Before leaves are written: where every leaf is reduced by itself, those before them have gone then.
  void finish_leaves(const schedule::Instruction& waiting) {
    if (program_.reduces_each_microbatch()) finish_reductions(waiting);
  }
  void gather_gradients(const schedule::Instruction& i);

  void gather_parameters(const schedule::Instruction& i);
  void free_parameters(const schedule::Instruction& i);
  void await_parameters(const SegmentUnit& unit, const schedule::Instruction& waiting);
  void await_all_parameters(const schedule::Instruction& waiting);
  // The step's gradient of what the bucket's optimizer holds.
  tensor::Tensor gradient(Bucket& bucket, const schedule::Instruction& waiting);

  // After the values that replicas hold were set from outside: every replica gets all of them.
  void publish();

  sharding::OnWait on_wait(const schedule::Instruction& waiting) const;

 private:
  struct UnderWay {
    Bucket* bucket;
    schedule::Instruction instruction;
    double begin_seconds;
    ReadBy by = ReadBy::own_segment;  // of a gather: for which reader
  };
  void finish_reduction(const UnderWay& reduction, const schedule::Instruction& waiting);
  void await_gather(const UnderWay& gather, const schedule::Instruction& waiting);
  static std::uint32_t bucket_tag(ReplicaMessage message, const SegmentUnit& unit, const Bucket* bucket);
  static std::uint32_t parameter_tag(const SegmentUnit& unit, const Bucket* bucket, ReadBy by);
  std::vector<SegmentUnit::Read> gathered(const SegmentUnit& unit) const;
  template <class Visit>
  void each_unit(const schedule::Instruction& i, Visit visit) const;

  const schedule::Program& program_;
  comm::Channel& replicas_;
  const Units& units_;
  Observer& observer_;
  std::vector<UnderWay> reductions_, totals_, gathers_;
};

}  // namespace troika::executor
