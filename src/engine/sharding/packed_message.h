// A range of a sum in integers on its way from one rank to another, packed. The size of the
// first part is known in advance (shape::message_words), so that it can be received early. Longer sums continue in a
// second part, as far as the buffers have room (shape::packed_words), and a third, whose sizes follow from the
// directory in the first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/channel.h"
#include "cpu/grid.h"
#include "tensor/tensor.h"

namespace troika::sharding {

// 64-bit integers in fewer words, without loss, to be sent: sums of gradients (grid.h) need little more than 32 bits. Tensors
// are flat, int64, of any device; the work is done in host memory.
//
// A stream of words is first a directory, 16 bits per block of 256 integers (the last block may be shorter), four to a word
// from the low bits on: its width in the low 8 of them, its shift in the others. Then the blocks (cpu/grid.h); a
// shorter one has of every lane the words that lane 0 needs. The same from every machine.
std::int64_t directory_words(std::int64_t integers);

// The words of a stream lie in two tensors, `front` with at least the directory and `rest`, undefined where front holds all.
struct PackedStream {
  tensor::Tensor front, rest;
};

// Where in its stream each block of some integers lies.
class Packing {
 public:
  explicit Packing(const tensor::Tensor& integers);  // reads them once
  // Reads a received stream. BugError if it does not begin with a directory.
  Packing(std::int64_t integers, const tensor::Tensor& front);

  std::int64_t words() const { return begins_.back(); }  // of the whole stream

  void pack(const tensor::Tensor& integers, const PackedStream& stream) const;
  void add(const PackedStream& stream, const tensor::Tensor& sum) const;  // sum += the stream's integers

 private:
  struct Words;  // of both tensors
  std::int64_t blocks() const { return static_cast<std::int64_t>(formats_.size()); }
  std::int64_t integers_in(std::int64_t block) const;
  void place_blocks();

  const std::int64_t count_;
  std::vector<cpu::BlockFormat> formats_;  // by block
  std::vector<std::int64_t> begins_;       // by block, in words; one more: the end
};

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
