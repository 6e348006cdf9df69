#include "train/model_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "checkpoint/gather.h"
#include "checkpoint/weights_folder.h"
#include "train/checkpoint_source.h"
#include "train/folder_source.h"

namespace troika::train {
namespace {

const char* const folder = "folder";
const char* const other = "other";  // a checkpoint's folder, or one around it

std::string kind_here(const std::string& path) {
  if (base::file_exists(path + "/config.json")) return folder;
  if (checkpoint::has_weights(path)) {
    throw base::DataError(
        fmt::format("the model folder '{}' has weights but no config.json; complete the download", path));
  }
  if (base::file_exists(path))
    throw base::DataError(fmt::format("'{}' is a file; name the folder that holds config.json and the weights", path));
  return base::directory_exists(path) ? other : "";
}

void refuse_missing_copies(const std::string& path, const std::vector<std::string>& kinds,
                           const std::vector<std::string>& hosts) {
  for (std::size_t rank = 0; rank < kinds.size(); ++rank) {
    if (kinds[rank] == folder) continue;
    throw base::ConfigError(
        fmt::format("there is no model folder '{}' on rank {}'s host {}, but on others; copy it there, or use a disk "
                    "that all share",
                    path, rank, hosts[rank]));
  }
}

}  // namespace

std::unique_ptr<ModelSource> open_model(const std::string& path, comm::Channel& world) {
  const auto kinds = checkpoint::gather(world, [&] { return kind_here(path); });
  const auto hosts = checkpoint::gather(world, [] { return base::host_name(); });
  const auto any = [&](const char* kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (any(folder)) {
    refuse_missing_copies(path, kinds, hosts);
    return open_folder_source(path, world);
  }
  if (!any(other)) {
    throw base::DataError(
        fmt::format("there is no model folder, checkpoint or run '{}' on any host; check the path", path));
  }
  return make_checkpoint_source(checkpoint::open_any(path, world));
}

}  // namespace troika::train
