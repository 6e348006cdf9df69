#include "sharding/packed_message.h"

#include <utility>

#include "shape/sum_shape.h"

namespace troika::sharding {

PackedSend::PackedSend(const at::Tensor& integers, const NewIntegers& allocate) {
  const kernels::Packing packing(integers);
  const std::int64_t front = shape::packed_words(integers.numel());
  stream_.front = allocate(front);
  if (packing.words() > front) stream_.rest = allocate(packing.words() - front);
  packing.pack(integers, stream_);
}

void PackedSend::start(comm::Channel& channel, int to, std::uint32_t tag) {
  front_ = channel.send(stream_.front, to, tag);
  if (stream_.rest.defined()) rest_ = channel.send(stream_.rest, to, tag);
}

void PackedSend::wait() {
  front_.wait();
  rest_.wait();
}

PackedReceive::PackedReceive(std::int64_t integers, NewIntegers allocate, comm::Channel& channel, int from,
                             std::uint32_t tag)
    : integers_(integers),
      allocate_(std::move(allocate)),
      channel_(channel),
      from_(from),
      tag_(tag),
      front_(allocate_(shape::packed_words(integers))),
      transfer_(channel.recv(front_, from, tag)) {}

void PackedReceive::add_to(const at::Tensor& sum) {
  transfer_.wait();
  const kernels::Packing packing(integers_, front_);
  kernels::PackedStream stream{front_, {}};
  if (packing.words() > front_.numel()) {
    stream.rest = allocate_(packing.words() - front_.numel());
    channel_.recv(stream.rest, from_, tag_).wait();
  }
  packing.add(stream, sum);
}

}  // namespace troika::sharding
