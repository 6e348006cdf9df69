#include "comm/failure.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "comm/channel.h"
#include "tensor/tensor.h"

namespace troika::comm {

std::string failure_text(const Operation& operation, const std::string& group, const std::string& cause) {
  if (operation.direction == Direction::exchange) {
    return fmt::format("exchange of {} (tag {:#x}) in group '{}' failed: {}", base::format_bytes(operation.bytes),
                       operation.tag, group, cause);
  }
  const bool sends = operation.direction == Direction::send;
  return fmt::format("{} of {} {} rank {} (tag {:#x}) in group '{}' failed: {}", sends ? "send" : "recv",
                     base::format_bytes(operation.bytes), sends ? "to" : "from", operation.peer, operation.tag, group,
                     cause);
}

void check_operation(const tensor::Tensor& tensor, int rank, int size, int peer, std::uint32_t tag) {
  if (!tensor.is_contiguous()) throw base::BugError("a channel was given a tensor that is not contiguous");
  if (peer < 0 || peer >= size || peer == rank)
    throw base::BugError(fmt::format("rank {} of {} has no peer {}", rank, size, peer));
  if (tag >= tag_limit && (tag < first_collective_tag || tag >= first_collective_tag + 256)) {
    throw base::BugError(fmt::format("tag {:#x} is not below {:#x}", tag, tag_limit));
  }
}

}  // namespace troika::comm
