// The entries of a part of a checkpoint, from its header (part.h describes how slices become entries).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "shape/region.h"

namespace troika::checkpoint {

struct PartEntry {
  std::string name;                 // of the tensor
  std::vector<std::int64_t> shape;  // of the whole tensor
  shape::Region region;
  std::int64_t begin = 0;  // byte position in the file
};

inline const char* const region_prefix = "region.";  // of the metadata key; the entry's name follows

// The slices of a part from its header. DataError naming `origin` when a region is impossible or the dtype is not F32.
std::vector<PartEntry> part_entries(const SafetensorsHeader& header, const std::string& origin);

}  // namespace troika::checkpoint
