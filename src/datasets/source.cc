#include "datasets/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/input_text.h"
#include "datasets/dataset_info.h"

namespace troika::datasets {
namespace {

bool exists(const std::string& path) { return base::file_exists(path) || base::directory_exists(path); }

std::optional<RecordShape> stated_shape(const std::string& word) {
  for (const Format format : {Format::text, Format::alpaca, Format::sharegpt, Format::messages, Format::tokenized})
    if (word_of(format) == word) return usual_shape(format);
  return std::nullopt;
}

void refuse_table(const std::string& path) {
  static constexpr std::array<const char*, 6> tables = {".parquet", ".csv", ".tsv", ".arrow", ".feather", ".xlsx"};
  for (const char* ending : tables)
    if (data::ends_with(data::without_compression(path), ending))
      throw base::DataError(
          fmt::format("'{}': {} files are not read; convert it to JSON lines, an object per record", path, ending + 1));
}

// Of a folder all that find_corpus would look at.
void refuse_tables(const std::string& path) {
  if (!base::directory_exists(path)) return refuse_table(path);
  std::error_code ignored;
  for (const std::string& entry : base::list_directory(path)) {
    const std::string below = path + "/" + entry;
    const bool linked_folder = base::directory_exists(below) && std::filesystem::is_symlink(below, ignored);
    if (entry[0] != '.' && !linked_folder) refuse_tables(below);
  }
}

[[noreturn]] void refuse_name(const std::string& word, const std::string& folder,
                              const std::vector<std::string>& names) {
  std::string text = fmt::format(
      "'{}' does not exist: give a text file, a JSON or JSONL file, a folder of them, or a folder of token shards",
      word);
  if (!folder.empty()) text += fmt::format("; nor is it a name in '{}/dataset_info.json'", folder);
  const std::string nearest = base::nearest(word, names);
  if (!nearest.empty()) text += fmt::format(" (nearest: {})", nearest);
  throw base::DataError(text);
}

Source named_source(const std::string& word, const config::DataSettings& settings) {
  Source source;
  source.name = source.path = word;
  source.shape = stated_shape(settings.format);
  source.text_key = settings.text_key;
  if (exists(word)) return source;
  const DatasetInfo info = settings.folder.empty() ? DatasetInfo() : read_dataset_info(settings.folder, word);
  if (!info.found) refuse_name(word, settings.folder, info.names);
  Source found = *info.found;
  if (settings.format == "text") found.shape = usual_shape(Format::text);
  if (source.shape && source.shape->format != found.shape->format)
    throw base::ConfigError(fmt::format(
        "data.format is {}, but '{}' of '{}/dataset_info.json' is {}: leave data.format auto, or change the entry's "
        "formatting",
        settings.format, word, settings.folder, word_of(found.shape->format)));
  return found;
}

std::int64_t fewer(std::int64_t a, std::int64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

}  // namespace

std::vector<Source> find_sources(const std::string& stated, const config::DataSettings& settings) {
  std::vector<std::string> words{stated};
  if (!exists(stated)) words = base::split(stated, ',');
  std::vector<Source> sources;
  for (const std::string& word : words) {
    if (base::trim(word).empty()) continue;
    sources.push_back(named_source(words.size() == 1 ? word : base::trim(word), settings));
    sources.back().max_samples = fewer(sources.back().max_samples, settings.max_samples);
    if (settings.format != "text") refuse_tables(sources.back().path);
  }
  if (sources.empty()) throw base::DataError(fmt::format("'{}' names no data", stated));
  return sources;
}

}  // namespace troika::datasets
