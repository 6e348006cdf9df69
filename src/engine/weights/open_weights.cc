#include "weights/model_source.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/text.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "config/config.h"
#include "config/huggingface/model_folder.h"
#include "data/input_text.h"
#include "gguf/model_files.h"
#include "shape/adapter.h"
#include "weights/checkpoint_source.h"
#include "weights/folder_source.h"
#include "weights/adapter_source.h"
#include "weights/weights_folder.h"

namespace troika::weights {
namespace {

// The kinds of source that a path on one host may hold.
const char* const folder_kind = "folder";
const char* const adapter_kind = "adapter";
const char* const model_of_adapter_kind = "model of an adapter's checkpoint";
const char* const checkpoint_kind = "other";  // a checkpoint's folder, or one around it

// The checkpoint whose folder `model` the path is, "" when it is not called that.
std::string checkpoint_around(const std::string& path) {
  const std::string plain = base::without_end_slashes(path), name = "/model";
  return plain != name && base::ends_with(plain, name) ? plain.substr(0, plain.size() - name.size()) : "";
}

bool is_of_adapter(const std::string& path) {
  const std::string around = checkpoint_around(path), manifest = around + "/" + checkpoint::manifest_name;
  if (around.empty() || !base::file_exists(manifest)) return false;
  const checkpoint::Facts facts =
      checkpoint::manifest_from_text(base::read_regular_file(manifest, base::most_list_bytes), manifest).facts;
  return shape::has_adapters(config::settings_from_yaml(facts.settings_yaml, manifest).lora);
}

std::string kind_here(const std::string& path) {
  config::refuse_other_than_folder(path);
  if (config::is_adapter_folder(path)) return adapter_kind;
  if (gguf::file_exists(path + "/config.json")) return is_of_adapter(path) ? model_of_adapter_kind : folder_kind;
  if (has_weights(path)) {
    throw base::DataError(
        base::say("the model folder '{}' has weights but no config.json; complete the download", path));
  }
  return base::directory_exists(path) ? checkpoint_kind : "";
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

void require_folder(const std::string& adapter, const std::string& named, bool by_flag, comm::Channel& world) {
  const bool there = checkpoint::any_rank(world, [&] {
    if (by_flag) config::refuse_other_than_folder(named);
    return gguf::holds_files(named);
  });
  if (!there) throw config::without_base(adapter, named);
}

void refuse_changed_base(const AdapterSource& adapter, const ModelSource& base) {
  const std::string then = adapter.base_fingerprint();
  if (then.empty() || then == base.fingerprint()) return;
  throw base::DataError(
      base::say("the adapter '{}' was trained on weights in '{}' with fingerprint {}, but the current ones have {}; name the right ones with --base PATH, or name these to use them anyway",
                adapter.path(), adapter.base(), then, base.fingerprint()));
}

}  // namespace

Weights open_weights(const std::string& path, comm::Channel& world) {
  const auto kinds = checkpoint::gather(world, [&] { return kind_here(path); });
  const auto any = [&](const char* kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (any(adapter_kind)) {
    refuse_missing_copies(base::Phrase("adapter's folder"), path, those_of(kinds, adapter_kind), world);
    return {nullptr, open_peft_folder(path, world)};
  }
  if (any(model_of_adapter_kind)) return of_checkpoint(checkpoint::open_at(checkpoint_around(path), world));
  if (any(folder_kind)) {
    refuse_missing_copies(base::Phrase("model folder"), path, those_of(kinds, folder_kind), world);
    return {open_folder_source(path, world), nullptr};
  }
  if (!any(checkpoint_kind)) {
    throw base::DataError(
        base::say("there is no model folder, adapter, checkpoint or run '{}' on any host; check the path", path));
  }
  return of_checkpoint(checkpoint::open_any(path, world));
}

std::unique_ptr<ModelSource> merge_with_base(std::unique_ptr<AdapterSource> adapter, const std::string& base,
                                             comm::Channel& world) {
  std::vector<std::unique_ptr<AdapterSource>> adapters;
  adapters.push_back(std::move(adapter));
  std::unique_ptr<ModelSource> model;
  for (std::string given = base; model == nullptr;) {
    const AdapterSource& top = *adapters.back();
    if (adapters.size() > config::most_adapters) throw config::too_many_adapters(top.path());
    const std::string named = given.empty() ? top.base() : given;
    require_folder(top.path(), named, !given.empty(), world);
    Weights next = open_weights(named, world);
    given = given.empty() ? top.base_beneath() : "";
    if (next.adapter != nullptr) adapters.push_back(std::move(next.adapter));
    model = std::move(next.model);
  }
  for (std::size_t i = adapters.size(); i-- > 0;) {
    if (i > 0 || base.empty()) refuse_changed_base(*adapters[i], *model);
    model = make_merged_source(std::move(model), std::move(adapters[i]));
  }
  return model;
}

std::unique_ptr<ModelSource> open_model(const std::string& path, comm::Channel& world, const std::string& base) {
  Weights weights = open_weights(path, world);
  if (weights.adapter != nullptr) return merge_with_base(std::move(weights.adapter), base, world);
  if (!base.empty())
    throw base::ConfigError(base::say("'{}' is a full model, which needs no base; omit --base {}", path, base));
  return std::move(weights.model);
}

std::unique_ptr<AdapterSource> open_adapter(const std::string& path, comm::Channel& world) {
  Weights weights = open_weights(path, world);
  if (weights.adapter == nullptr)
    throw base::DataError(base::say(
        "'{}' is a full model; name an adapter: a folder with adapter_config.json, or a run with lora.rank", path));
  return std::move(weights.adapter);
}

}  // namespace troika::weights
