#include "datasets/dataset_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "datasets/member.h"

namespace troika::datasets {
namespace {

struct Refusal {
  const char* member;
  const char* reason;
};

constexpr const char* download =
    "nothing is downloaded: put the file beside dataset_info.json and name it in file_name";
constexpr std::array<Refusal, 5> refused_members = {
    {{"hf_hub_url", download},
     {"ms_hub_url", download},
     {"om_hub_url", download},
     {"cloud_file_name", download},
     {"script_url", "no code of data sets is run: convert it to JSON lines"}}};
constexpr const char* pictures = "only text is trained on";
constexpr const char* preferences = "preferences are not trained on, only answers (stage sft) and text (stage pt)";
constexpr std::array<Refusal, 7> refused_columns = {{{"images", pictures},
                                                     {"videos", pictures},
                                                     {"audios", pictures},
                                                     {"image", pictures},
                                                     {"kto_tag", preferences},
                                                     {"chosen", preferences},
                                                     {"rejected", preferences}}};

template <std::size_t N>
void refuse(const Json& object, const std::array<Refusal, N>& refusals, const std::string& origin) {
  for (const Refusal& refusal : refusals)
    if (object.contains(refusal.member))
      throw base::DataError(fmt::format("{} has '{}': {}", origin, refusal.member, refusal.reason));
}

void refuse_what_is_not_done(const Json& entry, const std::string& origin) {
  if (!entry.contains("file_name")) refuse(entry, refused_members, origin);
  const Json* ranking = find_member(entry, "ranking");
  if (ranking != nullptr && *ranking == true)
    throw base::DataError(fmt::format("{} has 'ranking': {}", origin, preferences));
  if (const Json* columns = find_member(entry, "columns")) refuse(*columns, refused_columns, origin);
}

using Name = std::pair<const char*, std::string*>;

// Overwrites the names that the object `member` of the entry states.
void read_names(const Json& entry, const char* member, const std::vector<Name>& names, const std::string& origin) {
  const Json* given = find_member(entry, member);
  if (given == nullptr) return;
  for (const auto& [key, value] : as_object(*given, member, origin).items()) {
    const std::string& wanted = key;
    const auto known = std::find_if(names.begin(), names.end(), [&](const Name& name) { return wanted == name.first; });
    if (known == names.end()) throw base::DataError(fmt::format("{}: '{}' of '{}' is not known", origin, key, member));
    *known->second = value.is_null() ? "" : as_string(value, key, origin);
  }
}

Format format_of(const Json& entry, const std::string& origin) {
  const std::string word = string_or_empty(entry, "formatting", origin);
  if (word.empty() || word == "alpaca") return Format::alpaca;
  if (word == "sharegpt") return Format::sharegpt;
  if (word == "openai") return Format::messages;
  throw base::DataError(fmt::format("{}: 'formatting' may be alpaca, sharegpt or openai, not '{}'", origin, word));
}

RecordShape shape_of_entry(const Json& entry, const std::string& origin) {
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

std::string path_of(const Json& entry, const std::string& folder, const std::string& origin) {
  std::string path = folder + "/" + as_string(needed_member(entry, "file_name", origin), "file_name", origin);
  const std::string below = string_or_empty(entry, "folder", origin);
  if (!below.empty()) path += "/" + below;
  if (!base::file_exists(path) && !base::directory_exists(path))
    throw base::DataError(fmt::format("{} names '{}', which does not exist: put it there", origin, path));
  return path;
}

std::int64_t count_of(const Json& entry, const std::string& origin) {
  const Json* count = find_member(entry, "num_samples");
  if (count == nullptr) return 0;
  if (!count->is_number_integer() || *count < 1)
    throw base::DataError(
        fmt::format("{}: 'num_samples' must be a whole number above 0, not {}", origin, count->dump()));
  return count->get<std::int64_t>();
}

Source source_of(const Json& entry, const std::string& folder, const std::string& name, const std::string& origin) {
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
  const Json all = base::parse_ordered_json(base::read_file(path), fmt::format("'{}'", path));
  for (const auto& [key, entry] : as_object(all, "dataset_info.json", path).items()) {
    info.names.push_back(key);
    if (key == name) info.found = source_of(entry, folder, name, fmt::format("'{}' of '{}'", name, path));
  }
  return info;
}

}  // namespace troika::datasets
