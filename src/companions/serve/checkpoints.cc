#include "serve/checkpoints.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "diagnosis/folder.h"
#include "serve/complete_steps.h"
#include "serve/run_file.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_manifest_bytes = 8 << 20, most_header_bytes = 4 << 20;
constexpr std::size_t most_checkpoints = 1000, most_parts_opened = 256;

std::vector<std::string> names_in(const std::string& folder) {
  try {
    return base::list_directory(folder);
  } catch (const base::DataError&) {  // it may not be read
    return {};
  }
}

std::int64_t bytes_below(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const char* part : {"", "/model", "/state"}) {
    for (const std::string& name : names_in(folder + part)) {
      struct stat facts {};
      if (::lstat((folder + part + "/" + name).c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) bytes += facts.st_size;
    }
  }
  return bytes;
}

bool is_folder(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

// Of the tensors of which a part has slices: NAME, NAME#1, NAME#2 are one.
void take_names(const RunFile& part, std::set<std::string>* names) {
  std::uint64_t length = 0;
  if (part.read(0, reinterpret_cast<char*>(&length), sizeof length) != sizeof length) return;
  if (length > static_cast<std::uint64_t>(std::min(most_header_bytes, part.facts().bytes))) return;
  const std::string text = part.text(sizeof length, static_cast<std::int64_t>(length));
  const auto header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) return;
  for (const auto& item : header.items())
    if (item.key() != "__metadata__") names->insert(item.key().substr(0, item.key().find('#')));
}

// Nothing where a part cannot be read here.
std::optional<std::size_t> tensors_of(const std::string& step_path) {
  std::set<std::string> names;
  std::size_t opened = 0;
  for (const std::string& name : names_in(step_path + "/model")) {
    constexpr std::string_view ending = ".safetensors";
    if (name.size() < ending.size() || name.compare(name.size() - ending.size(), ending.size(), ending) != 0) continue;
    const std::optional<RunFile> part = RunFile::open(step_path, "model/" + name);
    if (!part || ++opened > most_parts_opened) return std::nullopt;
    take_names(*part, &names);
  }
  if (names.empty()) return std::nullopt;
  return names.size();
}

Json world_size_in(const std::string& step_path) {
  try {
    const std::optional<std::string> text = text_of_run(step_path, "manifest.json", most_manifest_bytes);
    const auto manifest = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (manifest.is_object() && manifest.contains("world_size") && manifest["world_size"].is_number_integer())
      return manifest["world_size"].get<std::int64_t>();
  } catch (const base::DataError&) {  // too large
  }
  return nullptr;
}

Json checkpoint_json(const std::string& folder, std::int64_t step) {
  const std::string path = step_folder(folder, step);
  const std::optional<RunFile> manifest = RunFile::open(path, "manifest.json");
  const auto tensors = tensors_of(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  return {{"step", step},
          {"time", manifest ? Json(manifest->facts().changed) : Json(nullptr)},
          {"bytes", bytes_below(path)},
          {"complete", true},
          {"tensors", tensors ? Json(*tensors) : Json(nullptr)},
          {"world_size", world_size_in(path)},
          {"exported", is_folder(folder + "/exports/" + name)}};
}

Json unfinished_json(const std::string& folder, std::int64_t step) {
  const std::string path = step_folder(folder, step) + ".partial";
  struct stat facts {};
  const bool known = ::lstat(path.c_str(), &facts) == 0;
  return {{"step", step},
          {"time", known ? Json(facts.st_mtim.tv_sec) : Json(nullptr)},
          {"bytes", bytes_below(path)},
          {"complete", false},
          {"tensors", nullptr},
          {"world_size", nullptr},
          {"exported", false}};
}

}  // namespace

std::string checkpoints_json(const std::string& folder) {
  std::vector<std::int64_t> steps;
  try {
    steps = complete_steps(folder);
  } catch (const base::DataError&) {  // it may not be read
  }
  std::reverse(steps.begin(), steps.end());
  if (steps.size() > most_checkpoints) steps.resize(most_checkpoints);
  const std::int64_t unfinished = diagnosis::find_checkpoints(folder).unfinished;
  Json list = Json::array();
  if (unfinished >= 0 && (steps.empty() || unfinished > steps.front()))
    list.push_back(unfinished_json(folder, unfinished));
  for (const std::int64_t step : steps) list.push_back(checkpoint_json(folder, step));
  return list.dump() + "\n";
}

}  // namespace troika::serve
