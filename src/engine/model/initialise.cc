
#include <algorithm>
#include <functional>

#include "base/random.h"
#include "cpu/parallel.h"
#include "cpu/flat.h"
#include "kernels/cpu_operands.h"
#include "model/decoder.h"
#include "tensor/tensor.h"

namespace troika::model {
namespace {

constexpr std::int64_t piece_elements = 1 << 16;

void in_pieces(const shape::Range& range, const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  cpu::parallel_pieces(range.count, piece_elements,
                       [&](std::int64_t begin, std::int64_t end) { body(range.begin + begin, range.begin + end); });
}

void draw_uniform(const base::Philox& random, std::int64_t first, std::int64_t count, float bound, float* out) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = bound * static_cast<float>(2 * random.uniform(static_cast<std::uint64_t>(first + i)) - 1);
}

void draw_normal(const base::Philox& random, std::int64_t first, std::int64_t count, float scale, float* out) {
  cpu::random_normal(random, static_cast<std::uint64_t>(first), count, scale, out);
}

// Elements [begin, end) of a slot, counted in its own order.
void draw_part(const shape::Slot& slot, const base::Philox& random, float scale, std::int64_t begin, std::int64_t end,
               float* slot_begin) {
  const auto draw = slot.info.init == shape::ParameterInfo::Init::uniform ? draw_uniform : draw_normal;
  const shape::Region& region = slot.region;
  while (begin < end) {
    const std::int64_t run = begin / region.run, within = begin % region.run;
    const std::int64_t count = std::min(region.run - within, end - begin);
    draw(random, region.offset + run * region.stride + within, count, scale, slot_begin + begin);
    begin += count;
  }
}

// `range` of the slot, whose first element would be at slot_begin.
void initialise_slot(const shape::Slot& slot, const shape::Range& range, float* slot_begin, std::uint64_t seed,
                     double init_std) {
  const bool normal = slot.info.init == shape::ParameterInfo::Init::normal;
  if (normal || slot.info.init == shape::ParameterInfo::Init::uniform) {
    const base::Philox random(seed, slot.info.name);
    const auto scale = static_cast<float>(normal ? init_std * slot.info.init_scale : slot.info.init_scale);
    in_pieces(range,
              [&](std::int64_t begin, std::int64_t end) { draw_part(slot, random, scale, begin, end, slot_begin); });
  } else {
    const float value = slot.info.init == shape::ParameterInfo::Init::ones ? 1.0f : 0.0f;
    in_pieces(range,
              [&](std::int64_t begin, std::int64_t end) { std::fill(slot_begin + begin, slot_begin + end, value); });
  }
}

}  // namespace

void initialise(const shape::SegmentLayout& layout, const shape::Range& range, const tensor::Tensor& flat,
                std::uint64_t seed, double init_std) {
  for (const shape::Slot& slot : layout.slots) {
    const std::int64_t begin = std::max(slot.offset, range.begin);
    const std::int64_t end = std::min(slot.offset + slot.elements(), range.end());
    if (begin >= end) continue;
    float* slot_begin = flat.data<float>() + (slot.offset - range.begin);
    initialise_slot(slot, {begin - slot.offset, end - begin}, slot_begin, seed, init_std);
  }
}

void initialise(const shape::SegmentLayout& layout, const tensor::Tensor& flat, std::uint64_t seed, double init_std) {
  initialise(layout, {0, layout.elements}, flat, seed, init_std);
}

}  // namespace troika::model
