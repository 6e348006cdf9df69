#include "config/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "config/profile.h"

namespace troika::config {
namespace {

std::string processes(std::int64_t count) { return fmt::format("{} process{}", count, count == 1 ? "" : "es"); }

void refuse_absent_axis(const char* name, std::int64_t size, Findings* findings) {
  if (size == 1) return;
  findings->errors.push_back(
      fmt::format("parallel.{0}={1}: this build trains with {0} 1 only; use dp and pp", name, size));
}

// "pp 3 x tp 2", axes of 1 left out unless all are.
std::string spell_axes(const ParallelSettings& p) {
  std::vector<std::string> parts;
  for (const auto& [name, size] :
       {std::pair{"dp", p.dp}, std::pair{"pp", p.pp}, std::pair{"tp", p.tp}, std::pair{"cp", p.cp}}) {
    if (size > 1 || (size == 1 && std::string_view(name) == "dp")) parts.push_back(fmt::format("{} {}", name, size));
  }
  return base::join(parts, " x ");
}

std::string legal_pipelines(const ParallelSettings& p, std::int64_t world) {
  std::vector<std::string> sizes;
  for (std::int64_t pp = 1; pp <= world && sizes.size() < 16; ++pp) {
    if (world % (pp * p.tp * p.cp) == 0) sizes.push_back(fmt::to_string(pp));
  }
  return base::join(sizes, " or ");
}

std::string how_to_start(std::int64_t world, std::int64_t wanted) {
  return world == 1 ? fmt::format(" (troika launch --nproc-per-node {} -- train ...)", wanted) : "";
}

void refuse_indivisible_world(const ParallelSettings& p, std::int64_t world, std::int64_t fixed, Findings* findings) {
  ParallelSettings shown = p;
  shown.dp = 0;
  const std::int64_t below = world / fixed * fixed;
  const std::int64_t above = below + fixed;
  const std::string starts = below == 0 ? fmt::to_string(above) : fmt::format("{} or {}", below, above);
  const std::string legal = legal_pipelines(p, world);
  findings->errors.push_back(fmt::format("parallel: {} does not divide the world of {}: start {} processes{}{}",
                                         spell_axes(shown), processes(world), starts, how_to_start(world, above),
                                         legal.empty() ? "" : ", or set pp to " + legal));
}

void refuse_other_world(const ParallelSettings& p, std::int64_t world, std::int64_t fixed, Findings* findings) {
  const std::int64_t asked = p.dp * fixed;
  const std::string product = fixed == 1 ? "" : fmt::format(" = {}", asked);
  findings->errors.push_back(fmt::format("parallel: {}{}, but the world has {}: start {}{}, or set dp to {}",
                                         spell_axes(p), product, processes(world), asked, how_to_start(world, asked),
                                         world / fixed));
}

void check_stages(const Settings& s, Findings* findings) {
  const auto& stages = s.parallel.stage_layers;
  const std::int64_t pp = s.parallel.pp;
  if (pp > s.model.layers) {
    findings->errors.push_back(
        fmt::format("parallel.pp {} is more than the model's {} transformer layers: each stage needs one, "
                    "so pp is at most {}",
                    pp, s.model.layers, s.model.layers));
  }
  if (stages.empty()) return;
  const std::int64_t sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
  if (static_cast<std::int64_t>(stages.size()) != pp) {
    findings->errors.push_back(
        fmt::format("parallel.stage_layers has {} entries, but pp is {}: give one entry per stage, or "
                    "leave it out",
                    stages.size(), pp));
  } else if (sum != s.model.layers) {
    findings->errors.push_back(fmt::format("parallel.stage_layers {} sums to {}, but the model has {} layers",
                                           fmt::join(stages, ","), sum, s.model.layers));
  }
}

void settle_learning_rate(OptimizerSettings* o, Findings* findings) {
  if (o->min_lr <= o->lr) return;
  if (o->min_lr == OptimizerSettings{}.min_lr) {
    o->min_lr = o->lr / 10;
    findings->notes.push_back(
        fmt::format("optimizer.min_lr is {:g}, a tenth of lr, because its default is above lr", o->min_lr));
  } else {
    findings->errors.push_back(
        fmt::format("optimizer.min_lr {} is above optimizer.lr {}: it is where the decay ends, so at most {}",
                    o->min_lr, o->lr, o->lr));
  }
}

bool is_device(const std::string& device) {
  if (device == "auto" || device == "cpu" || device == "cuda") return true;
  std::int64_t index = -1;
  return device.rfind("cuda:", 0) == 0 && base::parse_int(device.substr(5), &index) && index >= 0;
}

}  // namespace

Layout solve_layout(const ParallelSettings& p, std::int64_t world, Findings* findings) {
  refuse_absent_axis("tp", p.tp, findings);
  refuse_absent_axis("cp", p.cp, findings);
  Layout layout{std::max<std::int64_t>(p.dp, 1), p.pp, p.tp, p.cp};
  const std::int64_t fixed = p.pp * p.tp * p.cp;
  if (world % fixed != 0) {
    refuse_indivisible_world(p, world, fixed, findings);
  } else if (p.dp == 0) {
    layout.dp = world / fixed;
  } else if (p.dp * fixed != world) {
    refuse_other_world(p, world, fixed, findings);
  }
  return layout;
}

void settle_model(Settings* settings, Findings* findings) {
  auto& m = settings->model;
  if (m.middle_layers > m.layers) {
    findings->errors.push_back(
        fmt::format("model.middle_layers {} is more than the model's {} layers: at most {} can be kept",
                    m.middle_layers, m.layers, m.layers));
  } else if (m.middle_layers > 0) {
    m.layers = m.middle_layers;
    m.middle_layers = 0;
  }
  if (m.heads % m.kv_heads != 0) {
    findings->errors.push_back(fmt::format("model.heads {} is not a multiple of model.kv_heads {}: {}", m.heads,
                                           m.kv_heads, nearest_multiples(m.heads, m.kv_heads)));
  }
  if (m.head_dim % 2 != 0) {
    findings->errors.push_back(fmt::format("model.head_dim {} is odd, but rotary positions turn pairs: {}", m.head_dim,
                                           nearest_multiples(m.head_dim, 2)));
  }
  if (settings->batch.seq_len > m.max_positions) {
    findings->errors.push_back(
        fmt::format("batch.seq_len {} is more than model.max_positions {}: at most {}, or raise max_positions",
                    settings->batch.seq_len, m.max_positions, m.max_positions));
  }
  check_stages(*settings, findings);
}

void settle_run(Settings* settings, Findings* findings) {
  const auto& train = settings->train;
  settle_learning_rate(&settings->optimizer, findings);
  const std::int64_t warmup = settings->optimizer.warmup_steps;
  if (train.steps > 0 && warmup > train.steps) {
    findings->errors.push_back(fmt::format("optimizer.warmup_steps {} is more than train.steps {}: at most {}", warmup,
                                           train.steps, train.steps));
  }
  if (!is_device(train.device)) {
    findings->errors.push_back(fmt::format("train.device takes auto, cpu, cuda or cuda:N, not '{}'", train.device));
  }
  if (!is_profile(train.profile)) {
    findings->errors.push_back(fmt::format(
        "train.profile takes all, a step such as 3, or steps and ranges such as 2,5-7, not '{}'", train.profile));
  }
  if (train.out.empty()) findings->errors.push_back("train.out is empty: name the run's folder");
  if (settings->precision.compute != "fp32") {
    findings->errors.push_back(fmt::format("precision.compute={}: this build computes in fp32 only; leave it out",
                                           settings->precision.compute));
  }
}

}  // namespace troika::config
