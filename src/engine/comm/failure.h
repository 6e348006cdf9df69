// The sentences of a transfer that failed, the same for every backend.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace troika::comm {

enum class Direction { send, recv, exchange };

struct Operation {
  Direction direction = Direction::send;
  std::int64_t bytes = 0;
  int peer = 0;  // world rank where the backend knows it, else the rank in the group; not of an exchange
  std::uint32_t tag = 0;
};

// "recv of 64 B from rank 1 (tag 5) in group 'dp0' failed: CAUSE"
std::string failure_text(const Operation& operation, const std::string& group, const std::string& cause);

// Throws BugError unless the tensor is contiguous, the peer another rank of the group and the tag legal.
void check_operation(const tensor::Tensor& tensor, int rank, int size, int peer, std::uint32_t tag);

}  // namespace troika::comm
