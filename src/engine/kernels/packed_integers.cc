#include "kernels/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "cpu/parallel.h"
#include "kernels/cpu_operands.h"

namespace troika::kernels {
namespace {

using cpu::BlockFormat;
using cpu::packed_block;

using cpu::packed_lanes;

constexpr std::int64_t formats_in_word = 4;

std::int64_t block_count(std::int64_t integers) { return (integers + packed_block - 1) / packed_block; }

void for_blocks(std::int64_t blocks, const std::function<void(std::int64_t)>& visit) {
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) visit(block);
  };
  cpu::parallel_pieces(blocks, 64, piece);
}

struct Bodies {
  BlockFormat (*format)(const std::int64_t* x);
  void (*pack)(const std::int64_t* x, const BlockFormat& format, std::uint64_t* words);
  void (*add)(const std::uint64_t* words, const BlockFormat& format, std::int64_t* sum);
};

constexpr Bodies bodies() { return {cpu::block_format, cpu::pack_block, cpu::add_block}; }

std::uint64_t* words_of(const tensor::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<std::uint64_t*>(tensor.data<std::int64_t>()) : nullptr;
}

tensor::Tensor in_host_memory(const tensor::Tensor& tensor) { return tensor.defined() ? tensor.cpu() : tensor; }

// From host memory, where it was not there to begin with.
void copy_back(const tensor::Tensor& from, const tensor::Tensor& to) {
  if (to.defined() && !to.is_cpu()) to.copy_from(from);
}

}  // namespace

std::int64_t directory_words(std::int64_t integers) {
  return (block_count(integers) + formats_in_word - 1) / formats_in_word;
}

struct Packing::Words {
  explicit Words(const PackedStream& stream)
      : front(words_of(stream.front)), rest(words_of(stream.rest)), in_front(stream.front.elements()) {}
  std::uint64_t& at(std::int64_t word) const { return word < in_front ? front[word] : rest[word - in_front]; }

  std::uint64_t *front, *rest;
  std::int64_t in_front;
};

std::int64_t Packing::integers_in(std::int64_t block) const {
  return std::min(packed_block, count_ - block * packed_block);
}

void Packing::place_blocks() {
  begins_.assign(1, directory_words(count_));
  for (std::int64_t block = 0; block < blocks(); ++block) {
    const std::int64_t numbers = (integers_in(block) + packed_lanes - 1) / packed_lanes;
    const std::int64_t words = (numbers * formats_[static_cast<std::size_t>(block)].width + 63) / 64;
    begins_.push_back(begins_.back() + packed_lanes * words);
  }
}

Packing::Packing(const tensor::Tensor& integers)
    : count_(integers.elements()), formats_(static_cast<std::size_t>(block_count(count_))) {
  const tensor::Tensor host = in_host_memory(integers);
  const std::int64_t* const x = host.data<std::int64_t>();
  for_blocks(blocks(), [&](std::int64_t block) {
    const std::int64_t* of_block = x + block * packed_block;
    std::array<std::int64_t, packed_block> padded{};
    if (integers_in(block) < packed_block) {
      std::copy_n(of_block, integers_in(block), padded.begin());
      of_block = padded.data();
    }
    formats_[static_cast<std::size_t>(block)] = bodies().format(of_block);
  });
  place_blocks();
}

Packing::Packing(std::int64_t integers, const tensor::Tensor& front)
    : count_(integers), formats_(static_cast<std::size_t>(block_count(integers))) {
  if (front.elements() < directory_words(integers)) {
    throw base::BugError(fmt::format("a message of {} words for {} packed integers, whose directory takes {}",
                                     front.elements(), integers, directory_words(integers)));
  }
  const tensor::Tensor host = in_host_memory(front);
  const std::uint64_t* const directory = words_of(host);
  for (std::size_t block = 0; block < formats_.size(); ++block) {
    const std::uint64_t bits = directory[block / formats_in_word] >> (16 * (block % formats_in_word));
    BlockFormat& format = formats_[block];
    format = {static_cast<int>(bits & 0xff), static_cast<int>(bits >> 8 & 0xff)};
    if (format.width + format.shift > 64)
      throw base::BugError(fmt::format("{} bits of packed integers, shifted by {}", format.width, format.shift));
  }
  place_blocks();
}

void Packing::pack(const tensor::Tensor& integers, const PackedStream& stream) const {
  const tensor::Tensor host = in_host_memory(integers);
  const PackedStream host_stream{in_host_memory(stream.front), in_host_memory(stream.rest)};
  const Words words(host_stream);
  std::fill_n(words.front, directory_words(count_), 0);
  for (std::size_t block = 0; block < formats_.size(); ++block) {
    const auto bits = static_cast<std::uint64_t>(formats_[block].width | formats_[block].shift << 8);
    words.front[block / formats_in_word] |= bits << (16 * (block % formats_in_word));
  }
  for_blocks(blocks(), [&](std::int64_t block) {
    const auto index = static_cast<std::size_t>(block);
    const std::int64_t* const x = host.data<std::int64_t>() + block * packed_block;
    if (integers_in(block) == packed_block && begins_[index + 1] <= words.in_front)
      return bodies().pack(x, formats_[index], words.front + begins_[index]);
    std::array<std::int64_t, packed_block> padded{};
    std::copy_n(x, integers_in(block), padded.begin());
    std::array<std::uint64_t, packed_block> packed{};
    bodies().pack(padded.data(), formats_[index], packed.data());
    for (std::int64_t word = begins_[index]; word < begins_[index + 1]; ++word)
      words.at(word) = packed[static_cast<std::size_t>(word - begins_[index])];
  });
  copy_back(host_stream.front, stream.front);
  copy_back(host_stream.rest, stream.rest);
}

void Packing::add(const PackedStream& stream, const tensor::Tensor& sum) const {
  const PackedStream host_stream{in_host_memory(stream.front), in_host_memory(stream.rest)};
  const Words words(host_stream);
  const tensor::Tensor host = in_host_memory(sum);
  for_blocks(blocks(), [&](std::int64_t block) {
    const auto index = static_cast<std::size_t>(block);
    std::int64_t* const to = host.data<std::int64_t>() + block * packed_block;
    if (integers_in(block) == packed_block && begins_[index + 1] <= words.in_front)
      return bodies().add(words.front + begins_[index], formats_[index], to);
    std::array<std::uint64_t, packed_block> packed{};
    for (std::int64_t word = begins_[index]; word < begins_[index + 1]; ++word)
      packed[static_cast<std::size_t>(word - begins_[index])] = words.at(word);
    std::array<std::int64_t, packed_block> padded{};
    std::copy_n(to, integers_in(block), padded.begin());
    bodies().add(packed.data(), formats_[index], padded.data());
    std::copy_n(padded.begin(), integers_in(block), to);
  });
  copy_back(host, sum);
}

}  // namespace troika::kernels
