#include "data/source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/corpus.h"
#include "data/file_content.h"
#include "data/input_text.h"
#include "data/json_records.h"
#include "data/shard_index.h"

namespace troika::data {
namespace {

bool exists(const std::string& path) { return base::file_exists(path) || base::directory_exists(path); }

std::optional<RecordShape> stated_shape(Format stated) {
  return stated == Format::automatic ? std::nullopt : std::optional(usual_shape(stated));
}

void refuse_table(const std::string& path) {
  struct Table {
    const char *ending, *format;  // of table_command
  };
  static constexpr std::array<Table, 6> tables = {{{".parquet", "parquet"},
                                                   {".arrow", "arrow"},
                                                   {".feather", "feather"},
                                                   {".xlsx", "excel"},
                                                   {".xls", "excel"},
                                                   {".orc", "orc"}}};
  for (const Table& table : tables)
    if (has_ending(without_compression(path), table.ending))
      throw base::DataError(base::say("'{0}': {1} files are not supported: convert the file to JSON lines\n  {2}", path, table.ending + 1, table_command(path, table.format)));
}

// Checks every file of a folder that find_corpus would look at.
void refuse_tables(const std::string& path) {
  if (!base::directory_exists(path)) return refuse_table(path);
  std::error_code ignored;
  for (const std::string& entry : base::list_directory(path)) {
    const std::string below = path + "/" + entry;
    const bool folder = base::directory_exists(below), link = std::filesystem::is_symlink(below, ignored);
    if (entry[0] != '.' && !(folder && (link || is_passed_over(below)))) refuse_tables(below);
  }
}

[[noreturn]] void refuse_name(const std::string& word, const std::string& folder,
                              const std::vector<std::string>& names) {
  const std::string nearest = base::nearest(word, names);
  throw base::DataError(base::say("'{}' does not exist: give a text file, a JSON, JSONL or CSV file, a folder of them, or a folder of token shards{}{}", word,
                                  folder.empty() ? base::Text{} : base::say("; '{}/dataset_info.json' has no such name either", folder),
                                  nearest.empty() ? base::Text{} : base::say(" (nearest: {})", nearest)));
}

Source named_source(const std::string& word, const config::DataSettings& settings) {
  Source source;
  source.name = source.path = word;
  source.shape = stated_shape(settings.format);
  source.text_key = settings.text_key;
  if (exists(word)) return source;
  refuse_special_file(word);
  const DatasetInfo info = settings.folder.empty() ? DatasetInfo() : read_dataset_info(settings.folder, word);
  if (!info.found) refuse_name(word, settings.folder, info.names);
  Source found = *info.found;
  if (settings.format == Format::text) found.shape = usual_shape(Format::text);
  if (source.shape && source.shape->format != found.shape->format)
    throw base::ConfigError(base::say("data.format is {0}, but '{1}' of '{2}/dataset_info.json' is {3}: leave data.format auto, or change the entry's formatting", word_of(settings.format), word, settings.folder,
                                      word_of(found.shape->format)));
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
    const std::string& path = sources.back().path;
    if (settings.format != Format::text && !looks_like_shards(path)) refuse_tables(path);
  }
  if (sources.empty()) throw base::DataError(base::say("'{}' names no data", stated));
  return sources;
}

namespace {

struct Refusal {
  const char* key;
  base::Phrase reason;
};

constexpr std::array<Refusal, 5> refused_members = {{{"hf_hub_url", base::Phrase("nothing is downloaded: put the file beside dataset_info.json and name it in file_name")},
                                                     {"ms_hub_url", base::Phrase("nothing is downloaded: put the file beside dataset_info.json and name it in file_name")},
                                                     {"om_hub_url", base::Phrase("nothing is downloaded: put the file beside dataset_info.json and name it in file_name")},
                                                     {"cloud_file_name", base::Phrase("nothing is downloaded: put the file beside dataset_info.json and name it in file_name")},
                                                     {"script_url", base::Phrase("data set scripts are not run: convert the data to JSON lines")}}};
constexpr std::array<Refusal, 7> refused_columns = {{{"images", base::Phrase("training supports only text")},
                                                     {"videos", base::Phrase("training supports only text")},
                                                     {"audios", base::Phrase("training supports only text")},
                                                     {"image", base::Phrase("training supports only text")},
                                                     {"kto_tag", base::Phrase("preference training is not supported, only answers (stage sft) and text (stage pt)")},
                                                     {"chosen", base::Phrase("preference training is not supported, only answers (stage sft) and text (stage pt)")},
                                                     {"rejected", base::Phrase("preference training is not supported, only answers (stage sft) and text (stage pt)")}}};

template <std::size_t N>
void refuse(const Json& object, const std::array<Refusal, N>& refusals, base::Origin origin) {
  for (const Refusal& refusal : refusals)
    if (object.contains(refusal.key))
      throw base::DataError(base::say("{} has '{}': {}", origin, refusal.key, base::say(refusal.reason)));
}

void refuse_what_is_not_done(const Json& entry, base::Origin origin) {
  if (!entry.contains("file_name")) refuse(entry, refused_members, origin);
  const Json* ranking = find_key(entry, "ranking");
  if (ranking != nullptr && *ranking == true)
    throw base::DataError(base::say("{} has '{}': {}", origin, "ranking", base::say("preference training is not supported, only answers (stage sft) and text (stage pt)")));
  if (const Json* columns = find_key(entry, "columns")) refuse(*columns, refused_columns, origin);
}

using Name = std::pair<const char*, std::string*>;

// Overwrites the names that the object `object_key` of the entry gives.
void read_names(const Json& entry, const char* object_key, const std::vector<Name>& names, base::Origin origin) {
  const Json* given = find_key(entry, object_key);
  if (given == nullptr) return;
  for (const auto& [key, value] : as_object(*given, object_key, origin).items()) {
    const std::string& wanted = key;
    const auto known = std::find_if(names.begin(), names.end(), [&](const Name& name) { return wanted == name.first; });
    if (known == names.end()) throw base::DataError(base::say("{0}: unknown key '{1}' in '{2}'", origin, key, object_key));
    *known->second = value.is_null() ? "" : as_string(value, key, origin);
  }
}

Format format_of(const Json& entry, base::Origin origin) {
  const std::string word = string_or_empty(entry, "formatting", origin);
  if (word.empty() || word == "alpaca") return Format::alpaca;
  if (word == "sharegpt") return Format::sharegpt;
  if (word == "openai") return Format::messages;
  throw base::DataError(base::say("{}: 'formatting' must be alpaca, sharegpt or openai, not '{}'", origin, word));
}

RecordShape shape_of_entry(const Json& entry, base::Origin origin) {
  RecordShape shape = usual_shape(format_of(entry, origin));
  Columns& c = shape.columns;
  Tags& t = shape.tags;
  read_names(entry, "columns",
             {{"prompt", &c.prompt},
              {"query", &c.query},
              {"response", &c.response},
              {"history", &c.history},
              {"messages", &c.messages},
              {"system", &c.system},
              {"tools", &c.tools}},
             origin);
  read_names(entry, "tags",
             {{"role_tag", &t.role},
              {"content_tag", &t.content},
              {"user_tag", &t.user},
              {"assistant_tag", &t.assistant},
              {"observation_tag", &t.observation},
              {"function_tag", &t.function},
              {"system_tag", &t.system}},
             origin);
  return shape;
}

// A list of data sets that came from elsewhere names no files outside its folder.
void refuse_to_leave(const std::string& name, const char* key, base::Origin origin) {
  const std::vector<std::string> parts = base::split(name, '/');
  if (std::find(parts.begin(), parts.end(), "..") != parts.end())
    throw base::DataError(base::say("{}: '{}' is '{}', which is outside the folder of dataset_info.json: put the file there, or give its path in data.train", origin, key, name));
}

std::string path_of(const Json& entry, const std::string& folder, base::Origin origin) {
  const std::string name = as_string(required_key(entry, "file_name", origin), "file_name", origin);
  const std::string below = string_or_empty(entry, "folder", origin);
  refuse_to_leave(name, "file_name", origin);
  refuse_to_leave(below, "folder", origin);
  std::string path = folder + "/" + name;
  if (!below.empty()) path += "/" + below;
  if (!base::file_exists(path) && !base::directory_exists(path))
    throw base::DataError(base::say("{} names '{}', which does not exist: put it there", origin, path));
  if (!lies_in(path, folder)) throw base::DataError(base::say("{} names '{}', a link that points outside the folder of dataset_info.json: put the file there, or give its path in data.train", origin, path));
  return path;
}

std::int64_t count_of(const Json& entry, base::Origin origin) {
  const Json* count = find_key(entry, "num_samples");
  if (count == nullptr) return 0;
  if (!count->is_number_integer() || *count < 1)
    throw base::DataError(base::say("{}: 'num_samples' must be a whole number above 0, not {}", origin, count->dump()));
  return count->get<std::int64_t>();
}

Source source_of(const Json& entry, const std::string& folder, const std::string& name, base::Origin origin) {
  refuse_what_is_not_done(as_object(entry, name, origin), origin);
  Source source;
  source.name = name;
  source.path = path_of(entry, folder, origin);
  source.shape = shape_of_entry(entry, origin);
  source.text_key = source.shape->columns.prompt;
  source.max_samples = count_of(entry, origin);
  return source;
}

}  // namespace

DatasetInfo read_dataset_info(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/dataset_info.json";
  DatasetInfo info;
  if (!base::file_exists(path)) return info;
  const Json all = base::parse_ordered_json(base::read_file(path), base::say(base::Phrase("'{}'", "file"), path));
  for (const auto& [key, entry] : as_object(all, "dataset_info.json", path).items()) {
    info.names.push_back(key);
    if (key == name) info.found = source_of(entry, folder, name, base::say("'{0}' of '{1}'", name, path));
  }
  return info;
}

}  // namespace troika::data
