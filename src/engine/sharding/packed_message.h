// A range of a sum in integers on its way from one rank to another, packed (kernels/grid.h). The size of the
// first part is known in advance (shape::message_words), so that it can be received early. Longer sums continue in a
// second part, as far as the buffers have room (shape::packed_words), and a third, whose sizes follow from the
// directory in the first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "kernels/grid.h"
#include "tensor/tensor.h"

namespace troika::sharding {

using NewIntegers = std::function<tensor::Tensor(std::int64_t count)>;  // flat, int64, uninitialised

// Both: one rank's thread; messages between the same two ranks with the same tag are received as they were sent.
class PackedSend {
 public:
  PackedSend(const tensor::Tensor& integers, const NewIntegers& allocate);  // integers: not read after it
  void start(comm::Channel& channel, int to, std::uint32_t tag);
  void wait();

 private:
  std::vector<tensor::Tensor> parts_;
  std::vector<comm::Transfer> transfers_;
};

class PackedReceive {
 public:
  PackedReceive(std::int64_t integers, NewIntegers allocate, comm::Channel& channel, int from, std::uint32_t tag);
  void wait();                         // for the first part
  void add_to(const tensor::Tensor& sum);  // waits for all

 private:
  std::int64_t integers_;
  NewIntegers allocate_;
  comm::Channel* channel_;
  int from_;
  std::uint32_t tag_;
  tensor::Tensor buffer_;
  comm::Transfer first_;
};

}  // namespace troika::sharding
