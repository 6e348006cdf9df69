#include "serve/form_paths.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "serve/paths_below.h"

namespace troika::serve {
namespace {

struct PathSetting {
  std::string_view key;
  PathKind kind;
  std::string_view words = "";  // that are no paths, each between spaces
};

constexpr std::array<PathSetting, 13> path_settings = {{{"model.path", PathKind::input},
                                                        {"model.base", PathKind::input},
                                                        {"lora.path", PathKind::input},
                                                        {"data.train", PathKind::input_list},
                                                        {"data.valid", PathKind::input_list},
                                                        {"data.folder", PathKind::input},
                                                        {"data.chat_template", PathKind::input, " auto chatml alpaca "},
                                                        {"data.tokenizer", PathKind::input, " bytes "},
                                                        {"data.cache", PathKind::output},
                                                        {"parallel.schedule_file", PathKind::input},
                                                        {"parallel.offload_folder", PathKind::output},
                                                        {"train.resume", PathKind::input, " auto never "},
                                                        {"log.tensorboard", PathKind::output, " on off "}}};

const PathSetting* path_setting(std::string_view key) {
  const auto found = std::find_if(path_settings.begin(), path_settings.end(),
                                  [&](const PathSetting& setting) { return setting.key == key; });
  return found == path_settings.end() ? nullptr : &*found;
}

base::Text named(const std::string& text, const base::ConfigError& error) {
  return base::say("'{}' {}", base::printable(text, 500), base::text_of(error));
}

// Where `text` of the value leads.
std::string rooted(const FormValue& value, const std::string& text) {
  return value.from.empty() || text.empty() || text.front() == '/' ? text : value.from + "/" + text;
}

std::string input_below(const std::string& root, const FormValue& value, const std::string& text) {
  try {
    const std::string path = path_below(root, rooted(value, text), Missing::refused);
    check_links_below(root, path);
    return path;
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(named(text, error));
  }
}

// Also a link that leads elsewhere.
bool is_there(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0;
}

// data::find_sources: the whole is one path where there is such a file, else comma-separated.
std::string list_below(const std::string& root, const FormValue& value) {
  const bool one = value.text.find(',') == std::string::npos && !value.names_data_sets;
  const std::string all = rooted(value, value.text);
  if (one || is_there(all.front() == '/' ? all : root + "/" + all))
    return input_below(root, value, value.text);
  std::vector<std::string> whole;
  for (const std::string& part : base::split(value.text, ',')) {
    const std::string word = base::trim(part);
    if (word.empty()) continue;
    const bool may_be_a_name = value.names_data_sets && word.find('/') == std::string::npos && word != "..";
    const bool is_a_name = may_be_a_name && !is_there(root + "/" + word) && !is_there(rooted(value, word));
    whole.push_back(is_a_name ? word : input_below(root, value, word));
    if (whole.back().find(',') != std::string::npos) throw base::ConfigError(base::say("'{}' has a comma in its path, which separates files: rename it", word));
  }
  return base::join(whole, ",");
}

std::string output_below(const std::string& root, const FormValue& value) {
  try {
    return path_below(root, rooted(value, value.text), Missing::allowed);
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(named(value.text, error));
  }
}

}  // namespace

PathKind path_kind_of(std::string_view key) {
  const PathSetting* setting = path_setting(key);
  return setting == nullptr ? PathKind::none : setting->kind;
}

std::optional<base::Phrase> why_not_of_a_page(std::string_view key) {
  if (key == "train.out") return base::Phrase("is not set here: the name of the run says where it goes");
  if (key == "log.on_event") return base::Phrase("is not set here: a page starts no commands");
  return std::nullopt;
}

std::string whole_path(const FormValue& value, const std::string& root) {
  const PathSetting* setting = path_setting(value.key);
  const bool is_word = setting != nullptr && setting->words.find(" " + value.text + " ") != std::string_view::npos;
  if (setting == nullptr || value.text.empty() || is_word) return value.text;
  switch (setting->kind) {
    case PathKind::input_list:
      return list_below(root, value);
    case PathKind::output:
      return output_below(root, value);
    default:
      return input_below(root, value, value.text);
  }
}

}  // namespace troika::serve
