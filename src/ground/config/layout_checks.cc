#include "config/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

// The end of "process", of so many.
base::Text plural(std::int64_t count) { return base::in_english_only(count == 1 ? "" : "es"); }

// "pp 3 x tp 2", axes of 1 left out unless all are.
std::string spell_axes(const ParallelSettings& p) {
  std::vector<std::string> parts;
  for (const auto& [name, size] :
       {std::pair{"dp", p.dp}, std::pair{"pp", p.pp}, std::pair{"tp", p.tp}, std::pair{"cp", p.cp}}) {
    if (size > 1 || (size == 1 && std::string_view(name) == "dp")) parts.push_back(fmt::format("{} {}", name, size));
  }
  return base::join(parts, " x ");
}

base::Text legal_pipelines(const ParallelSettings& p, std::int64_t world) {
  std::vector<std::string> sizes;
  for (std::int64_t pp = 1; pp <= world && sizes.size() < 16; ++pp) {
    if (world % (pp * p.tp * p.cp) == 0) sizes.push_back(fmt::to_string(pp));
  }
  return {base::join(sizes, " or "), base::join(sizes, " 或 ")};
}

std::string how_to_start(std::int64_t world, std::int64_t wanted) {
  return world == 1 ? fmt::format(" (troika launch --nproc-per-node {} -- train ...)", wanted) : "";
}

void refuse_indivisible_world(const ParallelSettings& p, std::int64_t world, std::int64_t fixed, Findings* findings) {
  ParallelSettings shown = p;
  shown.dp = 0;
  const std::int64_t below = world / fixed * fixed;
  const std::int64_t above = below + fixed;
  const base::Text starts = below == 0 ? base::verbatim(fmt::to_string(above)) : base::say("{} or {}", below, above);
  const base::Text legal = legal_pipelines(p, world);
  findings->errors.push_back(base::say("parallel: {} does not divide the world of {} process{}: start {} processes{}{}", spell_axes(shown), world, plural(world), starts,
                                       how_to_start(world, above),
                                       legal.english.empty() ? legal : base::say(", or set pp to {}", legal)));
}

void refuse_other_world(const ParallelSettings& p, std::int64_t world, std::int64_t fixed, Findings* findings) {
  const std::int64_t asked = p.dp * fixed;
  const std::string product = fixed == 1 ? "" : fmt::format(" = {}", asked);
  findings->errors.push_back(base::say("parallel: {}{}, but the world has {} process{}: start {}{}, or set dp to {}", spell_axes(p), product, world, plural(world), asked,
                                       how_to_start(world, asked), world / fixed));
}

// The smallest dim that tensor parallelism splits, with what each rank needs of it.
struct Splittable {
  std::int64_t size;
  std::string_view key;
  base::Phrase need;
};

void check_tensor_parallel(const Settings& s, Findings* findings) {
  std::vector<Splittable> dims = {{s.model.heads, "model.heads", base::Phrase("a query head")}, {s.model.ffn, "model.ffn", base::Phrase("a column of the feed-forward layer")}};
  if (s.model.vocab > 0) dims.push_back({s.model.vocab, "model.vocab", base::Phrase("a row of the vocabulary")});
  const Splittable& least =
      *std::min_element(dims.begin(), dims.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  if (s.parallel.tp <= least.size) return;
  findings->errors.push_back(
      base::say("parallel.tp {} is more than {} {}: each tensor-parallel rank needs {}, so tp is at most {}", s.parallel.tp, least.key, least.size, base::say(least.need), least.size));
}

void check_context_parallel(const Settings& s, Findings* findings) {
  const std::int64_t cp = s.parallel.cp;
  if (cp == 1 || s.batch.seq_len >= 2 * cp) return;
  findings->errors.push_back(
      base::say("batch.seq_len {} is too short for parallel.cp {}: each context-parallel rank takes 2 pieces of a sequence, so seq_len is at least {}, or cp at most {}", s.batch.seq_len, cp, 2 * cp, std::max<std::int64_t>(1, s.batch.seq_len / 2)));
}

void check_shares(const ParallelSettings& p, Findings* findings) {
  if (p.shares.empty()) return;
  if (static_cast<std::int64_t>(p.shares.size()) != p.dp) {
    findings->errors.push_back(
        base::say("parallel.shares has {} entr{} for dp {}: give one number of microbatches per data-parallel rank", p.shares.size(), base::in_english_only(p.shares.size() == 1 ? "y" : "ies"), p.dp));
  }
  if (p.zero >= 2 && p.dp * p.cp > 1) {
    findings->errors.push_back(base::say("parallel.shares needs zero 0 or 1, not {}: in ZeRO 2 and 3 all replicas communicate in every microbatch", p.zero));
  }
}

void check_reproducible(const ParallelSettings& p, Findings* findings) {
  if (p.reproducible != Reproducible::bits || (p.tp == 1 && p.cp == 1)) return;
  ParallelSettings shown = p;
  shown.dp = 0;
  shown.pp = 1;
  findings->errors.push_back(base::say("parallel.reproducible=bits does not allow {}: sums split over these ranks have different bits; set tp and cp to 1, or reproducible to run", spell_axes(shown)));
}

void note_what_changes_nothing(const Settings& s, Findings* findings) {
  const auto& p = s.parallel;
  if (p.zero > 0 && p.dp * p.cp == 1) {
    findings->notes.push_back(base::say("parallel.zero {} shards nothing, because dp x cp is 1", p.zero));
  }
  if (p.offload == Offload::host && word_or(s.train.device, DeviceKind::numbered) == DeviceKind::cpu) {
    findings->notes.push_back(
        base::say("parallel.offload host has no effect: on the device cpu the optimizer state is in the host's memory anyway"));
  }
  if (!p.offload_folder.empty() && p.offload != Offload::file) {
    findings->notes.push_back(
        base::say("parallel.offload_folder is not used, because offload is {}", word_of(p.offload)));
  }
}

}  // namespace

std::int64_t solve_dp(const ParallelSettings& p, std::int64_t world, Findings* findings) {
  const std::int64_t fixed = p.pp * p.tp * p.cp;
  if (world % fixed != 0) {
    refuse_indivisible_world(p, world, fixed, findings);
  } else if (p.dp == 0) {
    return world / fixed;
  } else if (p.dp * fixed != world) {
    refuse_other_world(p, world, fixed, findings);
  }
  return std::max<std::int64_t>(p.dp, 1);
}

void check_layout(const Settings& settings, Findings* findings) {
  check_tensor_parallel(settings, findings);
  check_context_parallel(settings, findings);
  check_reproducible(settings.parallel, findings);
  check_shares(settings.parallel, findings);
  note_what_changes_nothing(settings, findings);
}

namespace {

void refuse_without_pipeline(const ParallelSettings& p, Findings* findings) {
  const std::string asked =
      p.virtual_stages > 1 ? fmt::format("virtual_stages {}", p.virtual_stages) : "schedule " + word_of(p.schedule);
  findings->errors.push_back(base::say(
      "parallel.{} needs a pipeline, but pp is 1: set pp to 2 or more, or use {}", asked,
      p.schedule == Schedule::interleaved ? base::say("schedule 1f1b with virtual_stages 1") : base::verbatim("virtual_stages 1")));
}

void resolve_schedule(ParallelSettings* p, Findings* findings) {
  const bool is_interleaved = p->schedule == Schedule::interleaved;
  const bool has_many = p->virtual_stages > 1;
  if (is_interleaved == has_many) return;
  if (is_interleaved) {
    p->virtual_stages = 2;
    findings->notes.push_back(base::say("parallel.virtual_stages is 2, because the schedule interleaved needs 2 or more"));
  } else if (p->schedule == ParallelSettings{}.schedule) {
    p->schedule = Schedule::interleaved;
    findings->notes.push_back(
        base::say("parallel.schedule is interleaved, because virtual_stages is {}", p->virtual_stages));
  } else {
    findings->errors.push_back(base::say("parallel.schedule {} has one stage per rank, but virtual_stages is {}: set schedule to interleaved, or virtual_stages to 1", word_of(p->schedule), p->virtual_stages));
  }
}

// "pp 2 x virtual_stages 3"
std::string spell_stages(const ParallelSettings& p) {
  if (p.virtual_stages == 1) return fmt::format("pp {}", p.pp);
  return fmt::format("pp {} x virtual_stages {}", p.pp, p.virtual_stages);
}

base::Text fewer_stages(const ParallelSettings& p, std::int64_t layers) {
  const std::int64_t most = layers / p.pp;
  if (p.virtual_stages == 1 || most == 0) {
    return base::say(p.virtual_stages == 1 ? base::Phrase("pp is at most {}") : base::Phrase("pp is at most {}, with virtual_stages 1"), layers);
  }
  if (most > 1) return base::say("virtual_stages is at most {}", most);
  return base::say("set schedule to 1f1b and virtual_stages to 1");
}

void check_stage_count(const Settings& s, Findings* findings) {
  if (s.parallel.pp * s.parallel.virtual_stages <= s.model.layers) return;
  findings->errors.push_back(
      base::say("parallel.{} is more than the model's {} transformer layers: each stage needs one, so {}", spell_stages(s.parallel), s.model.layers, fewer_stages(s.parallel, s.model.layers)));
}

void check_stage_layers(const Settings& s, Findings* findings) {
  const auto& stages = s.parallel.stage_layers;
  if (stages.empty()) return;
  const std::int64_t sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
  const std::int64_t count = s.parallel.pp * s.parallel.virtual_stages;
  if (static_cast<std::int64_t>(stages.size()) != count) {
    findings->errors.push_back(
        base::say("parallel.stage_layers has {}, but there {} ({}): give one entry per stage, or leave it out", base::counted_text(static_cast<std::int64_t>(stages.size()), "entry", "entries"),
                  base::Text{fmt::format("{} {}", count == 1 ? "is" : "are", base::counted(count, "stage")),
                             std::to_string(count)},
                  spell_stages(s.parallel)));
  } else if (sum != s.model.layers) {
    findings->errors.push_back(base::say("parallel.stage_layers {} sums to {}, but the model has {}: give entries that sum to {}", fmt::join(stages, ","), sum,
                                         base::counted_text(s.model.layers, "layer"), s.model.layers));
  }
}

void check_stage_costs(const Settings& s, Findings* findings) {
  const auto& costs = s.parallel.stage_costs;
  if (costs.empty()) return;
  const std::int64_t segments = s.model.layers + 2;
  if (static_cast<std::int64_t>(costs.size()) != segments) {
    findings->errors.push_back(base::say("parallel.stage_costs has {} numbers, but embedding, {} transformer layers and head are {} segments: give {} numbers, or leave it out", costs.size(), s.model.layers, segments, segments));
  } else if (std::accumulate(costs.begin(), costs.end(), 0.0) == 0) {
    findings->errors.push_back(base::say("parallel.stage_costs are all 0: give the relative seconds of each segment, such as 1"));
  }
}

void check_one_cut(const ParallelSettings& p, Findings* findings) {
  std::vector<std::string> stated;
  if (!p.stage_layers.empty()) stated.emplace_back("stage_layers");
  if (!p.stage_costs.empty()) stated.emplace_back("stage_costs");
  if (p.stage_balance == StageBalance::measured) stated.emplace_back("stage_balance measured");
  if (stated.size() < 2) return;
  findings->errors.push_back(base::say(
      "parallel: {} each set the stage boundaries: keep one of them", base::Text{base::join(stated, " and "), base::join(stated, "、")}));
}

}  // namespace

void resolve_pipeline(Settings* settings, Findings* findings) {
  auto& p = settings->parallel;
  const std::size_t before = findings->errors.size();
  if (p.schedule_file.empty()) {
    const bool needs_pipeline = p.virtual_stages > 1 || p.schedule == Schedule::interleaved;
    p.pp == 1 && needs_pipeline ? refuse_without_pipeline(p, findings) : resolve_schedule(&p, findings);
  }
  if (findings->errors.size() == before) check_stage_count(*settings, findings);
  check_stage_layers(*settings, findings);
  check_stage_costs(*settings, findings);
  check_one_cut(p, findings);
}

}  // namespace troika::config
