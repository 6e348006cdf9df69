// A message as backends see it: its operation, its memory, the sentences where it fails.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/language.h"
#include "comm/channel.h"
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
base::Text failure_text(const Operation& operation, const std::string& group, const base::Text& cause);
// Why every later wait of a channel ends that has failed.
base::Text after_failure(const base::Text& cause);
base::Text channel_closed();

// Throws BugError unless the tensor is contiguous, the peer another rank of the group and the tag legal.
void check_operation(const tensor::Tensor& tensor, int rank, int size, int peer, std::uint32_t tag);

// A message's tensor in host memory: itself, or a copy of one on a device.
class HostCopy {
 public:
  HostCopy(const tensor::Tensor& tensor, Direction direction);

  const tensor::Tensor& local() const { return local_; }
  void arrived() const;  // what was received: where the tensor is on a device, there too

 private:
  tensor::Tensor tensor_, local_;
  bool comes_back_ = false;
};

// The state shared by a channel over messages and its transfers.
class MessageGroup {
 public:
  std::string name;
  std::vector<int> world_ranks;
  int rank = 0;

  // Why every wait ends; empty while none does. The first failure stays. From any thread.
  base::Text why_failed() const;
  void set_failure(const base::Text& text);

 private:
  mutable std::mutex mutex_;
  base::Text failure_;
};

// A channel of such a group, whose backend makes a transfer of every legal message.
class MessageChannel : public Channel {
 public:
  int rank() const override { return group().rank; }
  int size() const override { return static_cast<int>(group().world_ranks.size()); }
  const std::string& name() const override { return group().name; }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override;
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override;

 private:
  virtual const MessageGroup& group() const = 0;
  virtual Transfer post(Direction direction, const tensor::Tensor& tensor, int peer, std::uint32_t tag) = 0;
};

}  // namespace troika::comm
