#include "train/adapter_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gather.h"
#include "config/adapter_folder.h"
#include "train/merged_source.h"
#include "train/open_weights.h"

namespace troika::train {
namespace {

void require_folder(const std::string& adapter, const std::string& named, comm::Channel& world) {
  const auto there =
      checkpoint::gather(world, [&]() -> std::string { return base::directory_exists(named) ? "yes" : ""; });
  if (std::find(there.begin(), there.end(), "yes") == there.end()) throw config::without_base(adapter, named);
}

void refuse_changed_base(const AdapterSource& adapter, const ModelSource& base) {
  const std::string then = adapter.base_fingerprint();
  if (then.empty() || then == base.fingerprint()) return;
  throw base::DataError(fmt::format(
      "the adapter '{}' was trained beside weights in '{}' with fingerprint {}, and those there now have {}; "
      "name the right ones with --base PATH, or these to take them all the same",
      adapter.path(), adapter.base(), then, base.fingerprint()));
}

}  // namespace

std::unique_ptr<ModelSource> merge_with_base(std::unique_ptr<AdapterSource> adapter, const std::string& base,
                                             comm::Channel& world) {
  std::vector<std::unique_ptr<AdapterSource>> adapters;
  adapters.push_back(std::move(adapter));
  std::unique_ptr<ModelSource> model;
  for (std::string given = base; model == nullptr;) {
    const AdapterSource& top = *adapters.back();
    if (adapters.size() > config::most_adapters) throw config::too_many_adapters(top.path());
    const std::string named = given.empty() ? top.base() : given;
    require_folder(top.path(), named, world);
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

}  // namespace troika::train
