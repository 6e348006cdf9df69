// A range of a sum in integers on its way from one rank to another, packed (kernels/packed_integers.h). The first part has a
// size that is known before (shape::message_words), so that it can be awaited early. Of sums that need more, what else the
// buffers have room for (shape::packed_words) follows in a second part and the rest in a third, whose sizes follow from the
// directory in the first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "kernels/packed_integers.h"
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
