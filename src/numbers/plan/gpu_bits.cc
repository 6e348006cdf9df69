#include "plan/gpu_bits.h"

#include <fmt/format.h>

#include "shape/adapter.h"
#include "shape/layout.h"
#include "shape/trained.h"

namespace troika::plan {

// Elements of fp32 that 16 bytes hold, and of halves.
constexpr std::int64_t aligned_elements = 8;

static std::string unaligned_slot(const shape::SegmentLayout& layout) {
  for (const shape::Slot& slot : layout.slots)
    if (slot.offset % aligned_elements != 0) return slot.info.name;
  return "";
}

std::string unequal_operation(const config::Settings& settings) {
  for (int segment = 0; segment < shape::segment_count(settings.model); ++segment) {
    std::string name = unaligned_slot(shape::segment_layout(settings.model, segment));
    if (name.empty()) name = unaligned_slot(shape::adapter_layout(settings.model, settings.lora, segment, {}));
    if (!name.empty())
      return fmt::format(
          "'{}' does not begin on 16 bytes, and cuBLAS chooses the kernel of its gradient by where a layout lets it "
          "begin (widths that are multiples of 8 do)",
          name);
  }
  return "";
}

}  // namespace troika::plan
