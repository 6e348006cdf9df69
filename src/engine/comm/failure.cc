#include "comm/failure.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "base/units.h"

namespace troika::comm {

base::Text failure_text(const Operation& operation, const std::string& group, const base::Text& cause) {
  const std::string bytes = base::format_bytes(operation.bytes);
  switch (operation.direction) {
    case Direction::exchange:
      return base::say("exchange of {} (tag {:#x}) in group '{}' failed: {}", bytes, operation.tag, group, cause);
    case Direction::send:
      return base::say("send of {} to rank {} (tag {:#x}) in group '{}' failed: {}", bytes, operation.peer,
                       operation.tag, group, cause);
    case Direction::recv:
      break;
  }
  return base::say("recv of {} from rank {} (tag {:#x}) in group '{}' failed: {}", bytes, operation.peer, operation.tag,
                   group, cause);
}

base::Text after_failure(const base::Text& cause) { return base::say("an earlier transfer failed ({})", cause); }
base::Text channel_closed() { return base::say("its channel was closed"); }

void check_operation(const tensor::Tensor& tensor, int rank, int size, int peer, std::uint32_t tag) {
  if (!tensor.is_contiguous()) throw base::BugError("a channel was given a tensor that is not contiguous");
  if (peer < 0 || peer >= size || peer == rank)
    throw base::BugError(fmt::format("rank {} of {} has no peer {}", rank, size, peer));
  if (tag >= tag_limit && (tag < first_collective_tag || tag >= first_collective_tag + 256)) {
    throw base::BugError(fmt::format("tag {:#x} is not below {:#x}", tag, tag_limit));
  }
}

HostCopy::HostCopy(const tensor::Tensor& tensor, Direction direction) : tensor_(tensor), local_(tensor) {
  if (tensor.device().is_cpu()) return;
  comes_back_ = direction == Direction::recv;
  local_ = comes_back_ ? tensor::empty(tensor.sizes(), tensor.dtype()) : tensor.cpu();
}

void HostCopy::arrived() const {
  if (comes_back_) tensor_.copy_from(local_);
}

base::Text MessageGroup::why_failed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void MessageGroup::set_failure(const base::Text& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.empty()) failure_ = text;
}

Transfer MessageChannel::send(const tensor::Tensor& tensor, int to, std::uint32_t tag) {
  check_operation(tensor, rank(), size(), to, tag);
  return post(Direction::send, tensor, to, tag);
}

Transfer MessageChannel::recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) {
  check_operation(tensor, rank(), size(), from, tag);
  return post(Direction::recv, tensor, from, tag);
}

}  // namespace troika::comm
