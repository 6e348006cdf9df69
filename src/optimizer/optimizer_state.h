// Where the optimizer's state of one buffer lives: beside the parameters, in host memory, or in a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/scratch_mapping.h"
#include "tensor/ledger.h"

namespace troika::optimizer {

// device: on the parameters' device. host: in host memory, copied to the device and back around each step (on a CPU
// that is the same place). file: in a nameless file under `folder`; pages come and go with the step.
struct StatePlace {
  enum class Kind { device, host, file } kind = Kind::device;
  std::string folder;  // of file
};

// Owns `count` fp32 tensors of one length, zero at first. One rank's thread.
class OptimizerState {
 public:
  OptimizerState(int count, std::int64_t elements, const StatePlace& place, const c10::Device& device,
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
