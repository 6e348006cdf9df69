// Where the optimizer's state of one buffer lives: beside the parameters, in host memory, or in a file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mapping_guard.h"
#include "shape/shard_plan.h"
#include "tensor/ledger.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::optimizer {

// Owns `count` fp32 tensors of one length, zero at first. Copies between host and device go through lanes of their own: those
// of one buffer beside the step of another. One rank's thread; `streams` outlive it.
class OptimizerState {
 public:
  OptimizerState(int count, std::int64_t elements, const shape::StatePlace& place, tensor::Streams& streams,
                 tensor::Ledger& ledger);

  // Between steps, for checkpoints: may be read and written; on the host where the place is not `device`. Waits for what
  // is still on its way there.
  const tensor::Tensor& stored(int index) const;

  // For a step: begins to bring the state to the device.
  void fetch();
  const tensor::Tensor& present(int index);  // on the device
  // Elements [begin, begin + count) of all tensors are done with for this step: a file's pages leave the memory.
  void done(std::int64_t begin, std::int64_t count) const;
  void offload();                                         // back to where it is stored
  bool by_pieces() const { return mapping_ != nullptr; }  // worth being stepped through piece by piece

 private:
  bool travels() const { return host_ && !streams_.shares_host_memory(); }

  tensor::Streams& streams_;
  tensor::Ledger& ledger_;
  std::int64_t elements_;
  bool host_;  // not stored on the device
  std::unique_ptr<base::ScratchMapping> mapping_;
  std::vector<tensor::Tensor> stored_, fetched_;
  tensor::Event arrived_, left_;  // of fetched_; of what was offloaded last
};

}  // namespace troika::optimizer
