#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"

namespace troika::checkpoint {

using base::DataError;
using nlohmann::json;

static constexpr std::int64_t largest_header_bytes = 100'000'000, most_read_pages_bytes = 4 << 20;

// Those of base::Dtype in its order, then the others.
static constexpr const char* dtype_names[] = {"F32", "BF16", "F16", "F64", "I64", "I32", "U8", "I16", "I8", "BOOL"};
static constexpr std::int64_t other_bytes[] = {2, 1, 1};

std::optional<StoredDtype> StoredDtype::named(std::string_view name) {
  StoredDtype found = base::Dtype::fp32;
  for (found.row_ = 0; found.row_ < static_cast<int>(std::size(dtype_names)); ++found.row_)
    if (name == found.name()) return found;
  return {};
}

std::string StoredDtype::name() const { return dtype_names[row_]; }

std::int64_t StoredDtype::bytes() const {
  if (row_ >= base::dtype_count) return other_bytes[row_ - base::dtype_count];
  return base::bytes_of(static_cast<base::Dtype>(row_));
}

[[noreturn]] static void refuse(const std::string& origin, const base::Text& why) {
  throw DataError(base::say("'{}' is not a valid safetensors file: {}; restore it from another copy", origin, why));
}

static StoredDtype parse_dtype(const std::string& name, const std::string& origin, const std::string& tensor) {
  const std::optional<StoredDtype> dtype = StoredDtype::named(name);
  if (dtype) return *dtype;
  refuse(origin,
         base::say("tensor '{}' has the unknown dtype '{}' (known: {})", tensor, name, fmt::join(dtype_names, ", ")));
}

static std::vector<std::int64_t> whole_numbers(const json& array, const std::string& origin,
                                               const std::string& tensor) {
  std::vector<std::int64_t> numbers;
  for (const json& item : array) {
    if (!item.is_number_integer() || item.get<std::int64_t>() < 0)
      refuse(origin, base::say("tensor '{}' has {} instead of a whole number of at least 0", tensor, item.dump()));
    numbers.push_back(item.get<std::int64_t>());
  }
  return numbers;
}

static std::int64_t checked_count(const std::vector<std::int64_t>& shape, const std::string& origin,
                                  const std::string& tensor) {
  try {
    return shape::element_count(shape);
  } catch (const DataError& error) {
    refuse(origin, base::say("tensor '{}': {}", tensor, base::text_of(error)));
  }
}

static TensorEntry parse_entry(const std::string& name, const json& value, std::int64_t data_begin,
                               std::int64_t data_bytes, const std::string& origin) {
  TensorEntry entry;
  entry.name = name;
  entry.dtype = parse_dtype(base::json_string(value, "dtype", origin), origin, name);
  entry.shape = whole_numbers(base::json_array(value, "shape", origin), origin, name);
  const auto offsets = whole_numbers(base::json_array(value, "data_offsets", origin), origin, name);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes)
    refuse(origin, base::say("tensor '{}' lies outside the file's {} data bytes", name, data_bytes));
  entry.begin = data_begin + offsets[0];
  entry.bytes = offsets[1] - offsets[0];
  const std::int64_t count = checked_count(entry.shape, origin, name);
  if (entry.bytes % entry.dtype.bytes() != 0 || entry.bytes / entry.dtype.bytes() != count)
    refuse(origin, base::say("tensor '{}' has {} elements but {} bytes of data", name, count, entry.bytes));
  return entry;
}

static void check_no_gaps(const SafetensorsHeader& header, std::int64_t data_begin, std::int64_t file_bytes,
                          const std::string& origin) {
  std::int64_t expected = data_begin;
  for (const TensorEntry& entry : header.entries) {
    if (entry.begin < expected) refuse(origin, base::say("tensor '{}' overlaps the one before it", entry.name));
    if (entry.begin > expected) refuse(origin, base::say("there are unused bytes before tensor '{}'", entry.name));
    expected += entry.bytes;
  }
  if (expected != file_bytes)
    refuse(origin, base::say("it has {} bytes, but its tensors end at byte {}", file_bytes, expected));
}

static std::map<std::string, std::string> parse_metadata(const json& object, const std::string& origin) {
  std::map<std::string, std::string> metadata;
  if (!object.is_object()) refuse(origin, base::say("__metadata__ is not an object"));
  for (const auto& item : object.items()) {
    if (!item.value().is_string()) refuse(origin, base::say("the metadata '{}' is not a string", item.key()));
    metadata[item.key()] = item.value().get<std::string>();
  }
  return metadata;
}

static json parse_header_json(std::string_view text, const std::string& origin) {
  try {
    return base::parse_json(text, origin);
  } catch (const json::exception& error) {  // a number no type can hold
    refuse(origin, base::verbatim(error.what()));
  }
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::int64_t file_bytes, const std::string& origin) {
  const json object = parse_header_json(text, origin);
  if (!object.is_object()) refuse(origin, base::say("the header is not a JSON object"));
  const std::int64_t data_begin = 8 + static_cast<std::int64_t>(text.size());
  SafetensorsHeader header;
  for (const auto& item : object.items()) {
    if (item.key() == "__metadata__") {
      header.metadata = parse_metadata(item.value(), origin);
    } else {
      header.entries.push_back(parse_entry(item.key(), item.value(), data_begin, file_bytes - data_begin, origin));
    }
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.bytes, a.name) < std::tie(b.begin, b.bytes, b.name);
  });
  check_no_gaps(header, data_begin, file_bytes, origin);
  return header;
}

static std::string_view header_part(const base::MappedFile& file, const std::string& path) {
  if (file.size() < 8) refuse(path, base::say("it has {} bytes, less than the 8 of the header length", file.size()));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | std::to_integer<std::uint64_t>(file.data()[i]);
  if (length > file.size() - 8 || length > static_cast<std::uint64_t>(largest_header_bytes))
    refuse(path, base::say("its header should have {} bytes, but the file has {}", length, file.size()));
  return file.text().substr(8, static_cast<std::size_t>(length));
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(path) {
  base::while_reading(file_, [&] {
    header_text_ = header_part(file_, path);
    header_ = parse_safetensors_header(header_text_, static_cast<std::int64_t>(file_.size()), path);
  });
}

void ReadPages::add(std::int64_t position, std::int64_t bytes) {
  begin_ = read_ == 0 ? position : std::min(begin_, position);
  end_ = std::max(end_, position + bytes);
  read_ += bytes;
  if (read_ >= most_read_pages_bytes) drop();
}

void ReadPages::drop() {
  if (read_ > 0) file_.drop(begin_, end_ - begin_);
  begin_ = end_ = read_ = 0;
}

std::vector<PartEntry> part_entries(const SafetensorsHeader& header, const std::string& origin) {
  std::vector<PartEntry> entries;
  for (const TensorEntry& entry : header.entries) {
    if (entry.dtype != base::Dtype::fp32)
      throw DataError(base::say("'{}': tensor '{}' is {}, but a checkpoint holds F32", origin, entry.name, entry.dtype.name()));
    PartEntry part{entry.name.substr(0, entry.name.find('#')), entry.shape, {}, entry.begin};
    const std::int64_t elements = entry.bytes / 4;
    const auto region = header.metadata.find(region_prefix + entry.name);
    if (region == header.metadata.end()) {
      part.region = {0, elements, elements, 1};
    } else {
      shape::region_from_text(region->second, origin, &part.region, &part.shape);
    }
    if (part.region.elements() != elements)
      throw DataError(base::say("'{}': the region of '{}' has {} elements, but its data have {}", origin, entry.name,
                                  part.region.elements(), elements));
    entries.push_back(part);
  }
  return entries;
}

}  // namespace troika::checkpoint
