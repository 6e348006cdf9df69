#include "sharding/packed_message.h"

#include <algorithm>
#include <utility>

#include "shape/sum_shape.h"

namespace troika::sharding {

// The parts of a stream: the buffer's first part, the second if it needs one, and the rest.
static std::vector<tensor::Tensor> parts_of(const kernels::PackedStream& stream, std::int64_t integers,
                                            std::int64_t words) {
  const std::int64_t first = shape::message_words(integers), in_buffer = std::min(words, stream.front.elements());
  std::vector<tensor::Tensor> parts{stream.front.narrow(0, 0, first)};
  if (in_buffer > first) parts.push_back(stream.front.narrow(0, first, in_buffer - first));
  if (stream.rest.defined()) parts.push_back(stream.rest);
  return parts;
}

PackedSend::PackedSend(const tensor::Tensor& integers, const NewIntegers& allocate) {
  const kernels::Packing packing(integers);
  kernels::PackedStream stream{allocate(shape::packed_words(integers.elements())), {}};
  if (packing.words() > stream.front.elements()) stream.rest = allocate(packing.words() - stream.front.elements());
  packing.pack(integers, stream);
  const std::int64_t unused = shape::message_words(integers.elements()) - packing.words();
  if (unused > 0) stream.front.narrow(0, packing.words(), unused).zero();  // memory of others is not sent
  parts_ = parts_of(stream, integers.elements(), packing.words());
}

void PackedSend::start(comm::Channel& channel, int to, std::uint32_t tag) {
  for (const tensor::Tensor& part : parts_) transfers_.push_back(channel.send(part, to, tag));
}

void PackedSend::wait() {
  for (comm::Transfer& transfer : transfers_) transfer.wait();
}

PackedReceive::PackedReceive(std::int64_t integers, NewIntegers allocate, comm::Channel& channel, int from,
                             std::uint32_t tag)
    : integers_(integers),
      allocate_(std::move(allocate)),
      channel_(&channel),
      from_(from),
      tag_(tag),
      buffer_(allocate_(shape::packed_words(integers))),
      first_(channel.recv(buffer_.narrow(0, 0, shape::message_words(integers)), from, tag)) {}

void PackedReceive::wait() { first_.wait(); }

void PackedReceive::add_to(const tensor::Tensor& sum) {
  wait();
  const kernels::Packing packing(integers_, buffer_.narrow(0, 0, shape::message_words(integers_)));
  kernels::PackedStream stream{buffer_, {}};
  if (packing.words() > buffer_.elements()) stream.rest = allocate_(packing.words() - buffer_.elements());
  const std::vector<tensor::Tensor> parts = parts_of(stream, integers_, packing.words());
  for (std::size_t i = 1; i < parts.size(); ++i) channel_->recv(parts[i], from_, tag_).wait();
  packing.add(stream, sum);
}

}  // namespace troika::sharding
