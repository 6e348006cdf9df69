// Where the optimizer's state of one buffer lives: beside the parameters, in host memory, or in a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/scratch_mapping.h"
#include "shape/optimizer_state.h"
#include "tensor/ledger.h"

namespace troika::optimizer {

// Owns `count` fp32 tensors of one length, zero at first. One rank's thread.
class OptimizerState {
 public:
  OptimizerState(int count, std::int64_t elements, const shape::StatePlace& place, const c10::Device& device,
                 tensor::Ledger& ledger);

  // Between steps, for checkpoints: may be read and written; on the host where the place is not `device`.
  const at::Tensor& stored(int index) const { return stored_.at(static_cast<std::size_t>(index)); }

  // For a step: begins to bring the state to the device.
  void fetch();
  const at::Tensor& present(int index) const;  // on the device
  // Elements [begin, begin + count) of all tensors are done with for this step: a file's pages leave the memory.
  void done(std::int64_t begin, std::int64_t count) const;
  void offload();                                         // back to where it is stored
  bool by_pieces() const { return mapping_ != nullptr; }  // worth being stepped through piece by piece

 private:
  const c10::Device device_;
  tensor::Ledger& ledger_;
  std::int64_t elements_;
  std::unique_ptr<base::ScratchMapping> mapping_;
  std::vector<at::Tensor> stored_, fetched_;
};

}  // namespace troika::optimizer
