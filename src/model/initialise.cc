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

// Every threads-th piece of the slot, beginning with piece `first`.
void fill_pieces(const Slot& slot, const base::Philox& random, float scale, std::int64_t first, std::int64_t threads,
                 float* slot_begin) {
  for (std::int64_t begin = first * piece_elements; begin < slot.elements(); begin += threads * piece_elements)
    fill(slot, random, scale, begin, std::min(begin + piece_elements, slot.elements()), slot_begin);
}

}  // namespace

void initialise(const SegmentLayout& layout, const at::Tensor& flat, std::uint64_t seed, double init_std) {
  for (const Slot& slot : layout.slots) {
    float* slot_begin = flat.data_ptr<float>() + slot.offset;
    if (slot.info.init == ParameterInfo::Init::ones) {
      std::fill(slot_begin, slot_begin + slot.elements(), 1.0f);
      continue;
    }
    const base::Philox random(seed, slot.info.name);
    const float scale = static_cast<float>(init_std);
    const std::int64_t pieces = (slot.elements() + piece_elements - 1) / piece_elements;
    const std::int64_t threads = std::min<std::int64_t>(at::get_num_threads(), std::max<std::int64_t>(pieces, 1));
    std::vector<std::thread> others;
    for (std::int64_t t = 1; t < threads; ++t)
      others.emplace_back([&, t] { fill_pieces(slot, random, scale, t, threads, slot_begin); });
    fill_pieces(slot, random, scale, 0, threads, slot_begin);
    for (std::thread& other : others) other.join();
  }
}

}  // namespace troika::model
