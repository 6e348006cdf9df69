#include "datasets/first_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "data/chunks.h"
#include "data/json_array.h"

namespace troika::datasets {
namespace {

// The record that `text`, the beginning of a file, begins with; "" when it does not stand there whole.
std::string record_of(std::string_view text, data::Layout layout, bool whole_file, const std::string& path) {
  if (layout == data::Layout::json_array) {
    const std::size_t begin = data::array_begin(text, path), end = data::element_end(text, begin);
    return end == std::string_view::npos ? "" : base::trim(text.substr(begin, end - begin));
  }
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return end == text.size() && !whole_file ? "" : base::trim(text.substr(begin, end - begin));
}

}  // namespace

std::optional<FirstRecord> first_record(const data::CorpusFile& file) {
  if (file.layout == data::Layout::text) return std::nullopt;
  for (std::size_t most = std::size_t{1} << 16;; most *= 16) {
    const std::string text = data::first_text(file.path, most);
    const bool whole = text.size() < most;
    std::string record = record_of(text, file.layout, whole, file.path);
    if (!record.empty()) return FirstRecord{std::move(record), fmt::format("the first record of '{}'", file.path)};
    if (whole) return std::nullopt;
  }
}

std::optional<FirstRecord> first_record(const data::Corpus& corpus) {
  for (const data::CorpusFile& file : corpus.files) {
    if (auto found = first_record(file)) return found;
  }
  return std::nullopt;
}

}  // namespace troika::datasets
