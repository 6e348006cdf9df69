#include "config/pipeline_checks.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

void refuse_without_pipeline(const ParallelSettings& p, Findings* findings) {
  const std::string asked =
      p.virtual_stages > 1 ? fmt::format("virtual_stages {}", p.virtual_stages) : "schedule " + word_of(p.schedule);
  findings->errors.push_back(base::say(
      "parallel.{} needs a pipeline, but pp is 1: set pp to 2 or more, or take {}", asked,
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
      "parallel: {} each decide where stages are cut: keep one of them", base::Text{base::join(stated, " and "), base::join(stated, "、")}));
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
