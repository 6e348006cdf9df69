#include "train/own_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "exporters/tensorboard.h"
#include "records/run_reader.h"

namespace troika::train {
namespace {

[[noreturn]] void refuse_link(const std::string& path, const base::Text& instead) {
  std::error_code ignored;
  const std::string target = std::filesystem::read_symlink(path, ignored).string();
  throw base::ConfigError(
      base::say("'{}' is a link to '{}', and a run neither writes nor removes anything through links inside its folder: "
                  "remove the link{}",
                  path, target, instead));
}

void check_file(const std::string& path) {
  if (base::is_link(path)) refuse_link(path, {});
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !base::file_exists(path))
    throw base::ConfigError(base::say("'{}' is a pipe, a folder or a device where a run keeps a file: remove it, or "
                                        "choose another --train.out",
                                        path));
}

void check_folder(const std::string& path, const base::Text& instead) {
  if (base::is_link(path)) refuse_link(path, instead);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !base::is_plain_folder(path))
    throw base::ConfigError(base::say(
        "'{}' is a file where a run keeps a folder: remove it, or choose another --train.out", path));
}

}  // namespace

void check_own_folder(const config::Settings& settings) {
  const std::string& folder = settings.train.out;
  for (const std::string_view name : records::own_files) check_file(fmt::format("{}/{}", folder, name));
  for (const std::string_view name : records::own_folders)
    check_folder(fmt::format("{}/{}", folder, name),
                 base::say(", or have the whole run where it leads with --train.out"));
  if (settings.data.cache.empty())
    check_folder(folder + "/data", base::say(", or name where it leads with --data.cache"));
  const std::string events = exporters::tensorboard_folder(settings);
  if (events == folder + "/tensorboard")
    check_folder(events, base::say(", or name where it leads with --log.tensorboard"));
  for (const char* lines : {"logs", "records"})
    for (const std::string& name : base::list_directory(folder + "/" + lines))
      check_file(folder + "/" + lines + "/" + name);
}

}  // namespace troika::train
