// The data a checkpoint saves, copied in host memory, so that training may change it while it is written.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::train {

// One rank's thread takes it; another may read the slices until it is taken again, behind copied(). Must be destroyed on the
// rank's thread. `ledger` and `streams` outlive it.
class Snapshot {
 public:
  Snapshot(tensor::Ledger& ledger, tensor::Streams& streams) : ledger_(ledger), streams_(streams) {}
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Every slice's data, fp32, becomes a copy. What lies on the device of `streams` is copied by its lane out, while the host
  // continues; all else is copied when this returns. The memory is kept from one time to the next, and booked.
  void take(const std::vector<std::vector<checkpoint::Slice>*>& lists);

  // Nobody reads the slices, and nothing changes what they were copied from, before this event has passed.
  const tensor::Event& copied() const { return copied_; }

 private:
  bool by_lane(const checkpoint::Slice& slice) const;
  void keep_room(std::int64_t on_host, std::int64_t on_device);

  tensor::Ledger& ledger_;
  tensor::Streams& streams_;
  tensor::Tensor of_host_, of_device_;  // copies of what lies there
  tensor::Event copied_;
};

}  // namespace troika::train
