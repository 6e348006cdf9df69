#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/text.h"
#include "base/units.h"
#include "config/huggingface/model_folder.h"
#include "monitor/find_run.h"
#include "serve/catalog.h"
#include "serve/form.h"

namespace troika::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest_choice = 4;
constexpr int most_entries = 100'000;
constexpr std::int64_t most_config_bytes = 1 << 20, most_counted_bytes = 64 << 20;

constexpr std::array<std::string_view, 8> passed_folders = {"build", "node_modules",  "CMakeFiles", "__pycache__",
                                                            "venv",  "site-packages", "target",     "dist"};
constexpr std::array<std::string_view, 5> data_endings = {".jsonl", ".json", ".txt", ".jsonlines", ".ndjson"};
constexpr std::array<std::string_view, 3> line_endings = {".jsonl", ".jsonlines", ".ndjson"};
constexpr std::array<std::string_view, 2> compressed_endings = {".gz", ".zst"};
// Files of programs, models and runs.
constexpr std::array<std::string_view, 14> no_data = {
    "CMakeLists.txt",    "CMakePresets.json", "LICENSE.txt",           "compile_commands.json",
    "dataset_info.json", "manifest.json",     "package.json",          "package-lock.json",
    "requirements.txt",  "sweep.json",        "tokenizer_config.json", "tokenizer.json",
    "tsconfig.json",     "vocab.json"};

constexpr base::Phrase model_text = base::Phrase("{kind}, {layers} layers, width {width}, {size}");
constexpr base::Phrase adapter_text = base::Phrase("adapter, {size}");

bool ends_in(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
}

template <class Names>
bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_data_file(std::string_view name) {
  if (holds(no_data, name) || ends_in(name, ".index.json")) return false;
  for (const std::string_view ending : compressed_endings)
    if (ends_in(name, ending)) name.remove_suffix(ending.size());
  return std::any_of(data_endings.begin(), data_endings.end(),
                     [&](std::string_view ending) { return ends_in(name, ending); });
}

// Weights may be links, as in a cache of downloads.
std::int64_t bytes_of_weights(const std::string& folder, const std::vector<std::string>& names) {
  std::int64_t bytes = 0;
  for (const std::string& name : names) {
    struct stat facts {};
    if (ends_in(name, ".safetensors") && ::stat((folder + "/" + name).c_str(), &facts) == 0) bytes += facts.st_size;
  }
  return bytes;
}

Json config_of(const std::string& path) {
  if (!base::file_exists(path)) return nullptr;
  try {
    if (base::file_size(path) > most_config_bytes) return nullptr;
    return Json::parse(base::read_file(path), nullptr, false);
  } catch (const base::DataError&) {
    return nullptr;
  }
}

std::int64_t integer_in(const Json& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto found = config.find(key); found != config.end() && found->is_number_integer())
      return found->get<std::int64_t>();
  return 0;
}

// As data/chat_template.h looks for it.
std::optional<bool> has_chat_template(const std::string& folder) {
  if (base::file_exists(folder + "/chat_template.jinja")) return true;
  if (!config::has_tokenizer(folder)) return std::nullopt;
  const Json config = config_of(folder + "/tokenizer_config.json");
  return config.is_object() && config.contains("chat_template") && !config["chat_template"].is_null();
}

class ChoiceWalk {
 public:
  explicit ChoiceWalk(base::Language language) : language_(language) {}
  Choices found;

  void look_into(const std::string& name, const std::string& path, int depth) {
    const std::vector<std::string> names = monitor::names_in(path);
    if (!name.empty() && take_model(name, path, names)) return;
    for (const std::string& part : names) {
      if (--left_ < 0) return;
      if (part.front() == '.' || !base::is_utf8(part) || base::printable(part, part.size()) != part) continue;
      const std::string below = path + "/" + part, full = name.empty() ? part : name + "/" + part;
      const FileKind kind = kind_of(below);
      if (kind == FileKind::file && is_data_file(part) && found.data.size() < Choices::most) take_data(full, path, part);
      if (kind == FileKind::folder && !holds(passed_folders, part)) look_below(full, below, depth - 1);
    }
  }

 private:
  void take_data(const std::string& full, const std::string& folder, const std::string& name) {
    struct stat facts {};
    if (::lstat((folder + "/" + name).c_str(), &facts) != 0 || facts.st_size == 0) return;
    const bool of_lines = std::any_of(line_endings.begin(), line_endings.end(),
                                      [&](std::string_view ending) { return ends_in(name, ending); });
    const auto lines = of_lines ? lines_of(folder, name, &bytes_to_count_) : std::nullopt;
    found.data.push_back({full, base::format_bytes(facts.st_size), facts.st_size, std::nullopt, lines});
  }

  void look_below(const std::string& name, const std::string& path, int depth) {
    if (is_served_run(path)) {
      if (kind_of(path + "/exports") != FileKind::folder) return;
      for (const std::string& step : monitor::names_in(path + "/exports"))
        if (const std::string at = path + "/exports/" + step; kind_of(at) == FileKind::folder)
          take_model(name + "/exports/" + step, at, monitor::names_in(at));
    } else if (depth > 0) {
      look_into(name, path, depth);
    }
  }

  // Whether it is a folder of a model, so that nothing is looked for inside.
  bool take_model(const std::string& name, const std::string& path, const std::vector<std::string>& names) {
    const std::int64_t bytes = bytes_of_weights(path, names);
    if (bytes == 0) return false;
    const Json config = config_of(path + "/config.json");
    const bool adapter = base::file_exists(path + "/adapter_config.json");
    if (!config.is_object() && !adapter) return false;
    if (found.models.size() < Choices::most)
      found.models.push_back({name, words_of_model(config, bytes), bytes, has_chat_template(path), std::nullopt});
    return true;
  }

  std::string words_of_model(const Json& config, std::int64_t bytes) const {
    const std::string size = base::format_bytes(bytes);
    if (!config.is_object()) return fmt::format(fmt::runtime(adapter_text.in(language_)), fmt::arg("size", size));
    const auto kind = config.find("model_type");
    const std::string word = kind != config.end() && kind->is_string() ? kind->get<std::string>() : "?";
    return fmt::format(fmt::runtime(model_text.in(language_)), fmt::arg("kind", base::printable(word, 40)),
                       fmt::arg("layers", integer_in(config, {"num_hidden_layers", "n_layer"})),
                       fmt::arg("width", integer_in(config, {"hidden_size", "n_embd"})), fmt::arg("size", size));
  }

  const base::Language language_;
  int left_ = most_entries;
  std::int64_t bytes_to_count_ = most_counted_bytes;
};

Json list_of(const std::vector<Choice>& choices) {
  Json list = Json::array();
  for (const Choice& choice : choices) {
    list.push_back({{"path", choice.path}, {"text", choice.text}, {"bytes", choice.bytes}});
    if (choice.lines) list.back()["lines"] = *choice.lines;
    if (choice.has_chat_template) list.back()["chat_template"] = *choice.has_chat_template;
  }
  return list;
}

}  // namespace

Choices choices_below(const std::string& root, base::Language language) {
  ChoiceWalk walk(language);
  walk.look_into("", root, deepest_choice);
  return std::move(walk.found);
}

std::string to_json(const Choices& choices) {
  const Json json = {{"models", list_of(choices.models)}, {"data", list_of(choices.data)}};
  return json_line(json);
}

std::optional<std::int64_t> lines_of(const std::string& folder, const std::string& name, std::int64_t* budget) {
  constexpr std::size_t chunk = std::size_t{1} << 18;
  constexpr std::string_view blank = " \t\r";
  const std::optional<base::RunFile> file = base::RunFile::open(folder, name);
  if (!file || file->facts().bytes > *budget) return std::nullopt;
  *budget -= file->facts().bytes;
  std::vector<char> buffer(chunk);
  std::int64_t lines = 0, offset = 0;
  bool has_text = false;
  while (offset < file->facts().bytes) {
    const std::size_t got = file->read(offset, buffer.data(), buffer.size());
    if (got == 0) break;
    for (const char c : std::string_view(buffer.data(), got)) {
      if (c == '\n') {
        lines += has_text ? 1 : 0;
        has_text = false;
      } else if (blank.find(c) == std::string_view::npos) {
        has_text = true;
      }
    }
    offset += static_cast<std::int64_t>(got);
  }
  return lines + (has_text ? 1 : 0);
}

}  // namespace troika::serve
