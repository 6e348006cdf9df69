#include "commands/doctor/needs.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "config/resolve.h"
#include "host/nvidia.h"
#include "mesh/mesh.h"
#include "plan/plan.h"
#include "shape/layout.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {
namespace {

// Whether anything says what is trained, besides where it is saved and how ranks talk.
bool say_what_is_trained(const config::Settings& settings) {
  config::Settings others;
  others.train.out = settings.train.out;
  others.train.threads = settings.train.threads;
  others.checkpoint = settings.checkpoint;
  others.comm = settings.comm;
  others.log = settings.log;
  return config::to_yaml(others) != config::to_yaml(settings);
}

bool runs_on_processors(const config::Settings& settings) {
  const auto kind = config::word_or(settings.train.device, config::DeviceKind::numbered);
  if (kind == config::DeviceKind::automatic) return host::nvidia_devices().value_or(0) == 0;
  return kind == config::DeviceKind::cpu;
}

// Of the host whose ranks need most.
std::int64_t memory_on_a_host(const config::Resolved& resolved, std::int64_t vocab, const RunHosts& on) {
  plan::DataFacts data;
  data.vocab = vocab;
  data.samples = std::numeric_limits<std::int32_t>::max();  // not known; memory does not depend on it
  const plan::Plan plan = plan::make_plan(resolved, data);
  std::int64_t most = 0;
  for (int host = 0; host < on.hosts; ++host) {
    std::int64_t sum = 0;
    for (int rank = host * on.ranks_per_host; rank < (host + 1) * on.ranks_per_host; ++rank)
      sum += plan.memory[static_cast<std::size_t>(mesh::grid_rank_of(plan.shape, rank))].total();
    most = std::max(most, sum);
  }
  return most;
}

// fp32 parameters and the optimizer's state, the checkpoints that are kept, one that is being written, and the best one.
std::int64_t disk_on_a_host(const config::Settings& settings, const config::ModelSettings& model, int hosts) {
  constexpr double margin = 1.1;
  const auto bytes_per_parameter = static_cast<double>(shape::shape_of(settings.optimizer.name).saved_bytes());
  const bool evaluates = !settings.data.valid.empty() || settings.data.valid_share > 0;
  const std::int64_t checkpoints = settings.checkpoint.keep + 1 + (settings.checkpoint.keep_best && evaluates ? 1 : 0);
  const auto copies = static_cast<double>(std::max<std::int64_t>(1, settings.checkpoint.copies));
  return static_cast<std::int64_t>(bytes_per_parameter * margin * static_cast<double>(shape::parameter_count(model)) *
                                   copies * static_cast<double>(checkpoints) / hosts);
}

}  // namespace

doctor::Want want_of(const config::Settings& settings, const RunHosts& on, int port) {
  doctor::Want want;
  want.hosts = on.hosts > 1 ? doctor::Want::Hosts::several : doctor::Want::Hosts::one;
  want.folder = settings.train.out;
  want.interface = settings.comm.interface;
  want.port = port;
  want.ranks = on.ranks_per_host;
  want.threads = static_cast<int>(settings.train.threads);
  if (!say_what_is_trained(settings)) return want;
  const auto vocab = tokenizer::vocabulary_here(settings);
  if (!vocab) return want;
  config::ModelSettings model = settings.model;
  model.vocab = *vocab;
  want.disk_bytes = disk_on_a_host(settings, model, on.hosts);
  const bool open = settings.parallel.layout == config::LayoutChoice::automatic ||
                    settings.parallel.stage_balance == config::StageBalance::measured;
  if (!open && runs_on_processors(settings))
    want.memory_bytes = memory_on_a_host(config::resolve(settings, on.hosts * on.ranks_per_host), *vocab, on);
  return want;
}

}  // namespace troika::commands
