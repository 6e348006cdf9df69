// What an optimizer keeps for each parameter that it updates, where, and how parameters are shared out for its updates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"

namespace troika::shape {

// device: on the parameters' device. host: in host memory, copied to the device and back around each step (on a CPU
// that is the same place). file: in a nameless file under `folder`; pages come and go with the step.
struct StatePlace {
  enum class Kind { device, host, file } kind = Kind::device;
  std::string folder;  // of file
};

// Between which elements of a buffer one replica's share ends and the next begins. by_range: at any chunk of the gradient
// norm, for optimizers that update an element from its own gradient and state.
enum class Division { by_range };

// An fp32 tensor as long as the parameters.
struct StateBuffer {
  std::string_view name;   // in checkpoints, before a dot and the parameter's name
  std::string_view title;  // for people
};

// Bytes are of one parameter; `element`: its bytes as forward and backward read it, beside fewer than 4 an fp32 master copy is
// kept.
struct OptimizerShape {
  std::vector<StateBuffer> buffers;
  Division division = Division::by_range;

  int tensors(std::int64_t element) const { return static_cast<int>(buffers.size()) + (element == 4 ? 0 : 1); }
  std::int64_t bytes(std::int64_t element) const { return 4 * std::int64_t{tensors(element)}; }
  std::int64_t saved_bytes() const { return 4 * (1 + count()); }  // in a checkpoint, with the parameter
  // Read and written by an update: of gradient, parameter and buffers all but the gradient are written too.
  std::int64_t update_bytes(std::int64_t element) const { return 4 * (3 + 2 * count()) + (element == 4 ? 0 : element); }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(buffers.size()); }
};

OptimizerShape shape_of(config::Optimizer optimizer);

}  // namespace troika::shape
