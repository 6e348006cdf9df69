#include "commands/data/tokenizer_folder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::commands {

[[noreturn]] static void refuse(const std::string& folder, const std::string& file) {
  throw base::ConfigError(base::say(
      "the folder '{}' already holds another tokenizer (its '{}' differs): choose another --out, or remove it", folder,
      file));
}

static bool is_of_tokenizer(const std::string& name) {
  for (const std::string file : {"tokenizer.json", "tokenizer_config.json"}) {
    if (name == file || name.rfind(file + ".tmp.", 0) == 0) return true;  // the latter of a process that was killed
  }
  return false;
}

// -1: it cannot be read.
static std::int64_t ids_in(const std::string& path) {
  try {
    return static_cast<std::int64_t>(tokenizer::load_tokenizer_json(path).tokens.size());
  } catch (const base::DataError&) {
    return -1;
  }
}

void check_tokenizer_folder(const std::string& folder, std::int64_t vocab) {
  if (base::file_exists(folder))
    throw base::ConfigError(base::say("'{}' is a file: name a folder with --out, new or empty", folder));
  for (const std::string& name : base::list_directory(folder)) {
    if (is_of_tokenizer(name)) continue;
    throw base::ConfigError(
        base::say("the folder '{}' already holds other things ('{}'): name a new or empty folder with --out", folder,
                    name));
  }
  const std::string path = folder + "/tokenizer.json";
  if (!base::file_exists(path)) return;
  const std::int64_t ids = ids_in(path);
  if (ids < 0 || ids > vocab) refuse(folder, "tokenizer.json");
}

Saved save_tokenizer_once(const tokenizer::BpeModel& model, const std::string& folder) {
  const auto files = tokenizer::tokenizer_files(model);
  bool all = true;
  for (const auto& [name, content] : files) {
    const std::string path = folder + "/" + name;
    if (!base::file_exists(path)) {
      all = false;
    } else if (base::read_file(path) != content) {
      refuse(folder, name);
    }
  }
  if (all) return Saved::before;
  tokenizer::save_tokenizer(model, folder);
  return Saved::now;
}

}  // namespace troika::commands
