#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

#include "base/random.h"
#include "model/decoder.h"

namespace troika::model {
namespace {

constexpr std::int64_t piece_elements = 1 << 16;

// Elements [begin, end) of a slot, counted in its own order.
void fill(const Slot& slot, const base::Philox& random, float scale, std::int64_t begin, std::int64_t end,
          float* slot_begin) {
  const sharding::Region& region = slot.region;
  while (begin < end) {
    const std::int64_t run = begin / region.run, within = begin % region.run;
    const std::int64_t count = std::min(region.run - within, end - begin);
    float* out = slot_begin + begin;
    random.fill_normal(static_cast<std::uint64_t>(region.offset + run * region.stride + within), count, out);
    std::for_each(out, out + count, [scale](float& value) { value *= scale; });
    begin += count;
  }
}

// Every threads-th piece of the slot's `range`, beginning with piece `first`.
void fill_pieces(const Slot& slot, const base::Philox& random, float scale, const sharding::Range& range,
                 std::int64_t first, std::int64_t threads, float* slot_begin) {
  for (std::int64_t at = range.begin + first * piece_elements; at < range.end(); at += threads * piece_elements)
    fill(slot, random, scale, at, std::min(at + piece_elements, range.end()), slot_begin);
}

// `range` of the slot, whose first element would stand at slot_begin.
void initialise_slot(const Slot& slot, const sharding::Range& range, float* slot_begin, std::uint64_t seed,
                     double init_std) {
  if (slot.info.init == ParameterInfo::Init::ones) {
    std::fill(slot_begin + range.begin, slot_begin + range.end(), 1.0f);
    return;
  }
  const base::Philox random(seed, slot.info.name);
  const float scale = static_cast<float>(init_std);
  const std::int64_t pieces = (range.count + piece_elements - 1) / piece_elements;
  const std::int64_t threads = std::min<std::int64_t>(at::get_num_threads(), pieces);
  std::vector<std::thread> others;
  for (std::int64_t t = 1; t < threads; ++t)
    others.emplace_back([&, t] { fill_pieces(slot, random, scale, range, t, threads, slot_begin); });
  fill_pieces(slot, random, scale, range, 0, threads, slot_begin);
  for (std::thread& other : others) other.join();
}

}  // namespace

void initialise(const SegmentLayout& layout, const sharding::Range& range, const at::Tensor& flat, std::uint64_t seed,
                double init_std) {
  for (const Slot& slot : layout.slots) {
    const std::int64_t begin = std::max(slot.offset, range.begin);
    const std::int64_t end = std::min(slot.offset + slot.elements(), range.end());
    if (begin >= end) continue;
    float* slot_begin = flat.data_ptr<float>() + (slot.offset - range.begin);
    initialise_slot(slot, {begin - slot.offset, end - begin}, slot_begin, seed, init_std);
  }
}

void initialise(const SegmentLayout& layout, const at::Tensor& flat, std::uint64_t seed, double init_std) {
  initialise(layout, {0, layout.elements}, flat, seed, init_std);
}

}  // namespace troika::model
