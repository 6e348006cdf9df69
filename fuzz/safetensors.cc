// safetensors files, and the parts of checkpoints: the input as a whole file, and as the JSON header of a file that is as
// long as the header says.
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/input.h"
#include "fuzz/memory_file.h"
#include "fuzz/outcome.h"

namespace troika::fuzz {
using checkpoint::PartEntry;
using checkpoint::SafetensorsHeader;
using checkpoint::TensorEntry;

static void require_inside(const SafetensorsHeader& header, std::int64_t file_bytes) {
  std::int64_t end = -1;
  for (const TensorEntry& entry : header.entries) {
    require(entry.begin >= 8 && entry.bytes >= 0 && entry.bytes <= file_bytes - entry.begin, "tensors lie in the file");
    require(end < 0 || entry.begin == end, "tensors adjoin");
    require(shape::element_count(entry.shape) * entry.dtype.bytes() == entry.bytes,
            "a tensor's shape and bytes agree");
    end = entry.begin + entry.bytes;
  }
}

static void require_sound(const PartEntry& entry) {
  const std::int64_t numel = shape::element_count(entry.shape), elements = entry.region.elements();
  require(shape::region_problem(entry.region, numel).empty(), "a part's region is possible");
  shape::Region region;
  std::vector<std::int64_t> shape;
  shape::region_from_text(shape::region_to_text(entry.region, entry.shape), "a region", &region, &shape);
  require(region.elements() == elements && shape == entry.shape, "a region's text reads back");
  if (elements > 10000) return;
  require(shape::common_elements(entry.region, {0, numel, numel, 1}) == elements, "a region lies in its tensor");
  std::int64_t in_parts = 0;
  for (const shape::Region& part : shape::part_of_region(entry.region, 0, elements)) in_parts += part.elements();
  require(in_parts == elements, "a region's parts are the region");
}

static void use(const SafetensorsHeader& header, std::int64_t file_bytes) {
  require_inside(header, file_bytes);
  accepted([&] {
    for (const PartEntry& entry : checkpoint::part_entries(header, "a part")) require_sound(entry);
  });
}

static void read_file(std::string_view content) {
  static MemoryFile file;
  file.set(content);
  accepted([&] {
    const checkpoint::SafetensorsFile opened(file.path());
    use(opened.header(), opened.bytes());
  });
}

// Where the data of a file with this header ends: behind the last tensor.
static std::int64_t data_bytes(std::string_view header) {
  const auto document = nlohmann::json::parse(header.begin(), header.end(), nullptr, false);
  std::int64_t end = 0;
  if (!document.is_object()) return end;
  for (const auto& tensor : document) {
    if (!tensor.is_object() || !tensor.contains("data_offsets")) continue;
    for (const auto& offset : tensor.at("data_offsets"))
      if (offset.is_number_unsigned() && offset.get<std::uint64_t>() < std::uint64_t{1} << 60)
        end = std::max(end, offset.get<std::int64_t>());
  }
  return end;
}

static void read_header(std::string_view header) {
  const std::int64_t file_bytes = 8 + static_cast<std::int64_t>(header.size()) + data_bytes(header);
  accepted([&] { use(checkpoint::parse_safetensors_header(header, file_bytes, "a file"), file_bytes); });
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(safetensors)(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = troika::fuzz::text_of(data, size);
  troika::fuzz::read_file(input);
  troika::fuzz::read_header(input);
  return 0;
}
