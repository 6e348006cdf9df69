#include "serve/form.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::serve {
namespace {

// Nothing where it is not there; errno says why.
std::optional<std::string> real_path_of(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), ::free);
  return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

bool goes_up(const std::string& path) {
  for (const std::string& part : base::split(path, '/'))
    if (part == "..") return true;
  return false;
}

// A path whose last parts are missing: the real folder before them, and them. Nothing where one of them is a link to a missing
// target: making the path would make that target.
std::optional<std::string> real_path_to_be(const std::string& path) {
  std::string before = path, behind;
  for (;;) {
    if (const std::optional<std::string> real = real_path_of(before)) return *real + behind;
    struct stat facts {};
    const std::size_t slash = before.rfind('/');
    if (errno != ENOENT || slash == std::string::npos || slash == 0 || ::lstat(before.c_str(), &facts) == 0)
      return std::nullopt;
    behind = before.substr(slash) + behind;
    before.erase(slash);
  }
}

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

bool lies_below(const std::string& root, const std::string& real_path) {
  if (root == "/" || real_path == root) return true;
  return real_path.size() > root.size() && real_path.compare(0, root.size(), root) == 0 &&
         real_path[root.size()] == '/';
}

std::string path_below(const std::string& root, const std::string& path, Missing missing) {
  if (path.empty()) throw base::ConfigError(base::say("is empty"));
  if (path.size() >= PATH_MAX) throw base::ConfigError(base::say("is too long for a path"));
  const std::string full = path.front() == '/' ? path : root + "/" + path;
  if (const std::optional<std::string> real = real_path_of(full); real && lies_below(root, *real)) return *real;
  // Nothing is told of a path that is elsewhere, not even whether it exists.
  const std::string plain = std::filesystem::path(full).lexically_normal().string();
  const std::optional<std::string> to_be = real_path_to_be(full);
  const bool would_be_below = to_be && lies_below(root, *to_be) && lies_below(root, plain);
  if (!would_be_below || (missing == Missing::allowed && goes_up(path)))
    throw base::ConfigError(base::say("is not below {}, the folder this page is limited to", root));
  if (missing == Missing::refused) throw base::ConfigError(base::say("does not exist"));
  return *to_be;
}

void check_links_below(const std::string& root, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown)) continue;
    const std::optional<std::string> real = real_path_of(at->path().string());
    if (real && !lies_below(root, *real))
      throw base::ConfigError(
          base::say("contains the link {}, which leads out of {}: remove it, or put the file itself there", base::printable(at->path().string().substr(path.size() + 1), 300), root));
  }
}

PathKind path_kind_of(std::string_view key) {
  const PathSetting* setting = path_setting(key);
  return setting == nullptr ? PathKind::none : setting->kind;
}

std::optional<base::Phrase> why_not_of_a_page(std::string_view key) {
  if (key == "train.out") return base::Phrase("cannot be set here: the run's name determines it");
  if (key == "log.on_event") return base::Phrase("cannot be set here: a page starts no commands");
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

FileKind kind_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return FileKind::none;
  return S_ISREG(facts.st_mode) ? FileKind::file : S_ISDIR(facts.st_mode) ? FileKind::folder : FileKind::other;
}

}  // namespace troika::serve
