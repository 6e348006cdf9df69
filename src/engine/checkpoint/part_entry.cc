#include "checkpoint/part_entry.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"

namespace troika::checkpoint {
using base::DataError;

std::vector<PartEntry> part_entries(const SafetensorsHeader& header, const std::string& origin) {
  std::vector<PartEntry> entries;
  for (const TensorEntry& entry : header.entries) {
    if (entry.dtype != base::Dtype::fp32)
      throw DataError(base::say("'{}': tensor '{}' is {}, a checkpoint holds F32", origin, entry.name, entry.dtype.name()));
    PartEntry part{entry.name.substr(0, entry.name.find('#')), entry.shape, {}, entry.begin};
    const std::int64_t elements = entry.bytes / 4;
    const auto region = header.metadata.find(region_prefix + entry.name);
    if (region == header.metadata.end()) {
      part.region = {0, elements, elements, 1};
    } else {
      shape::region_from_text(region->second, origin, &part.region, &part.shape);
    }
    if (part.region.elements() != elements)
      throw DataError(base::say("'{}': the region of '{}' has {} elements, its data {}", origin, entry.name,
                                  part.region.elements(), elements));
    entries.push_back(part);
  }
  return entries;
}

}  // namespace troika::checkpoint
