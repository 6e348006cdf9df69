// A range of a sum in integers on its way from one rank to another, packed (kernels/packed_integers.h). The first message has
// a size that is known before, so that it can be awaited early; what it does not hold follows in a second one, whose size stands
// in the first. Sums that trainings were seen to have fit into the first (docs/reproducibility.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "comm/channel.h"
#include "kernels/packed_integers.h"

namespace troika::sharding {

using NewIntegers = std::function<at::Tensor(std::int64_t count)>;  // flat, int64, uninitialised

// Both: one rank's thread; messages between the same two ranks with the same tag are received as they were sent.
class PackedSend {
 public:
  PackedSend(const at::Tensor& integers, const NewIntegers& allocate);  // which are not read any more after it
  void start(comm::Channel& channel, int to, std::uint32_t tag);
  void wait();

 private:
  kernels::PackedStream stream_;
  comm::Transfer front_, rest_;
};

class PackedReceive {
 public:
  PackedReceive(std::int64_t integers, NewIntegers allocate, comm::Channel& channel, int from, std::uint32_t tag);
  void add_to(const at::Tensor& sum);  // waits for them

 private:
  const std::int64_t integers_;
  const NewIntegers allocate_;
  comm::Channel& channel_;
  const int from_;
  const std::uint32_t tag_;
  at::Tensor front_;
  comm::Transfer transfer_;
};

}  // namespace troika::sharding
