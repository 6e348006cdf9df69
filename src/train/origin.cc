#include "train/origin.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "train/checkpoint_source.h"

namespace troika::train {
namespace {

void find_checkpoint(const config::TrainSettings& train, comm::Channel& world, Origin* origin) {
  if (train.resume == "never") return;
  const std::string root = train.out + "/checkpoints";
  origin->found = train.resume == "auto" ? checkpoint::find_newest(root, world, &origin->rejected)
                                         : std::optional<checkpoint::Found>(checkpoint::open_at(train.resume, world));
  if (!origin->found && !origin->rejected.empty()) {
    throw base::DataError(
        fmt::format("no checkpoint in '{}' can be used, so nothing was touched; repair one, or start "
                    "anew with --resume never (or another --out)\n  {}",
                    root, base::join(origin->rejected, "\n  ")));
  }
  if (origin->found) origin->rejected = origin->found->rejected;
}

// A run that goes on stays the child of the folder it once began from.
void remember_from_checkpoint(Origin* origin) {
  const checkpoint::Facts& facts = origin->found->facts;
  origin->config_json = facts.model_config_json;
  for (const char* name : {weights_dtype_fact, weights_from_fact}) {
    const auto fact = facts.extra.find(name);
    if (fact != facts.extra.end()) origin->facts.insert(*fact);
  }
}

}  // namespace

Origin find_origin(const Plan& plan, comm::Channel& world) {
  Origin origin;
  find_checkpoint(plan.settings().train, world, &origin);
  if (origin.found) {
    remember_from_checkpoint(&origin);
  } else if (!plan.model().path.empty()) {
    origin.source = open_model(plan.model().path, world);
    origin.source->check(plan.model());
    origin.config_json = origin.source->config_json();
    origin.facts = origin.source->facts();
  }
  return origin;
}

}  // namespace troika::train
