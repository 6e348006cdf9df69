// Will it fit: the bytes one rank holds, from the layout alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::cost {

// One rank's stage in numbers.
struct StageNumbers {
  std::int64_t parameter_elements = 0;
  std::int64_t gradient_elements = 0;
  std::int64_t saved_bytes = 0;   // of one microbatch between forward and backward
  std::int64_t in_flight = 1;     // microbatches held at once
  std::int64_t border_bytes = 0;  // one activation between stages; 0: a single stage
  std::int64_t microbatches = 1;  // of this rank's share: leaves of its gradient sum
};

struct Memory {
  std::int64_t parameters = 0, gradients = 0, state = 0, activations = 0;
  std::int64_t program = 0;  // the process itself: libtorch, threads, buffers of the operations
  std::int64_t total() const { return parameters + gradients + state + activations + program; }
};

// fp32: 4 bytes per parameter, 8 of Adam state, at most 1 + log2(microbatches) + 1 gradient buffers.
Memory memory_of(const StageNumbers& stage);

// "1.2 GiB (parameters 300 MiB, gradients 600 MiB, optimizer 600 MiB, activations 80 MiB, program 250 MiB)"
std::string describe(const Memory& memory);

}  // namespace troika::cost
