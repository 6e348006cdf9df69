// What a checkpoint saves, copied in host memory, so that training may change it while it is written.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "tensor/ledger.h"
#include "tensor/tensor.h"

namespace troika::checkpoint {

// One rank's thread takes it; another may read the slices until it is taken again. Must be destroyed on the rank's thread.
class Snapshot {
 public:
  explicit Snapshot(tensor::Ledger& ledger) : ledger_(ledger) {}

  // Every slice's data becomes a copy, fp32. The memory is kept from one time to the next, and booked.
  void take(const std::vector<std::vector<Slice>*>& lists);

 private:
  tensor::Ledger& ledger_;
  tensor::Tensor memory_;
};

}  // namespace troika::checkpoint
