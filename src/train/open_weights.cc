#include "train/open_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "checkpoint/weights_folder.h"
#include "config/adapter_folder.h"
#include "config/config.h"
#include "model/adapter.h"
#include "train/checkpoint_adapter.h"
#include "train/checkpoint_source.h"
#include "train/copies.h"
#include "train/folder_source.h"
#include "train/peft_folder.h"

namespace troika::train {
namespace {

// What stands at the path on one host.
const char* const folder = "folder";
const char* const adapter = "adapter";
const char* const of_adapter = "model of an adapter's checkpoint";
const char* const other = "other";  // a checkpoint's folder, or one around it

std::string without_end_slashes(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  return end == std::string::npos ? path : path.substr(0, end + 1);
}

// The checkpoint whose folder `model` the path is, "" when it is not called that.
std::string checkpoint_around(const std::string& path) {
  const std::string plain = without_end_slashes(path), name = "/model";
  const bool is_model = plain.size() > name.size() && plain.compare(plain.size() - name.size(), name.size(), name) == 0;
  return is_model ? plain.substr(0, plain.size() - name.size()) : "";
}

bool is_of_adapter(const std::string& path) {
  const std::string around = checkpoint_around(path), manifest = around + "/" + checkpoint::manifest_name;
  if (around.empty() || !base::file_exists(manifest)) return false;
  const checkpoint::Facts facts = checkpoint::manifest_from_text(base::read_file(manifest), manifest).facts;
  return model::has_adapters(config::settings_from_yaml(facts.settings_yaml, manifest).lora);
}

std::string kind_here(const std::string& path) {
  if (config::is_adapter_folder(path)) return adapter;
  if (base::file_exists(path + "/config.json")) return is_of_adapter(path) ? of_adapter : folder;
  if (checkpoint::has_weights(path)) {
    throw base::DataError(
        fmt::format("the model folder '{}' has weights but no config.json; complete the download", path));
  }
  if (base::file_exists(path))
    throw base::DataError(fmt::format("'{}' is a file; name the folder that holds config.json and the weights", path));
  return base::directory_exists(path) ? other : "";
}

std::vector<bool> those_of(const std::vector<std::string>& kinds, const std::string& kind) {
  std::vector<bool> there;
  for (const std::string& one : kinds) there.push_back(one == kind);
  return there;
}

Weights of_checkpoint(checkpoint::Found found) {
  Weights weights;
  if (holds_adapter(found)) {
    weights.adapter = make_checkpoint_adapter(std::move(found));
  } else {
    weights.model = make_checkpoint_source(std::move(found));
  }
  return weights;
}

}  // namespace

Weights open_weights(const std::string& path, comm::Channel& world) {
  const auto kinds = checkpoint::gather(world, [&] { return kind_here(path); });
  const auto any = [&](const char* kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (any(adapter)) {
    refuse_missing_copies("adapter's folder", path, those_of(kinds, adapter), world);
    return {nullptr, open_peft_folder(path, world)};
  }
  if (any(of_adapter)) return of_checkpoint(checkpoint::open_at(checkpoint_around(path), world));
  if (any(folder)) {
    refuse_missing_copies("model folder", path, those_of(kinds, folder), world);
    return {open_folder_source(path, world), nullptr};
  }
  if (!any(other)) {
    throw base::DataError(
        fmt::format("there is no model folder, adapter, checkpoint or run '{}' on any host; check the path", path));
  }
  return of_checkpoint(checkpoint::open_any(path, world));
}

}  // namespace troika::train
