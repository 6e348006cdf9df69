#include "planner/layout.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "base/say.h"
#include "base/text.h"
#include "plan/job.h"

namespace troika::planner {

bool operator==(const Layout& a, const Layout& b) {
  const auto all = [](const Layout& l) {
    return std::make_tuple(l.dp, l.pp, l.tp, l.cp, l.zero, l.schedule, l.virtual_stages, l.micro, l.global, l.tokens, l.recompute,
                           l.offload, l.precision);
  };
  return all(a) == all(b);
}

base::Text text_of(const Layout& l) {
  std::vector<std::string> axes;
  for (const auto& [name, extent] : {std::pair("dp", l.dp), {"pp", l.pp}, {"tp", l.tp}, {"cp", l.cp}}) {
    if (extent > 1) axes.push_back(fmt::format("{} {}", name, extent));
  }
  std::vector<base::Text> parts{axes.empty() ? base::say("one rank") : base::verbatim(base::join(axes, " x "))};
  if (l.zero > 0) parts.push_back(base::verbatim(fmt::format("zero {}", l.zero)));
  if (l.schedule == config::Schedule::interleaved)
    parts.push_back(base::say("interleaved with {} stages a rank", l.virtual_stages));
  else if (l.pp > 1)
    parts.push_back(base::verbatim(config::word_of(l.schedule)));
  parts.push_back(l.tokens > 0 ? base::say("microbatches of {} tokens", l.tokens) : base::say("micro batch {}", l.micro));
  if (l.recompute != config::Recompute::none) parts.push_back(base::say("recompute {}", config::word_of(l.recompute)));
  if (l.offload != config::Offload::none) parts.push_back(base::say("offload {}", config::word_of(l.offload)));
  parts.push_back(base::verbatim(config::word_of(l.precision)));
  return base::join(parts, ", ", "，");
}

std::string name_of(const Layout& layout) { return text_of(layout).english; }

std::vector<std::string> flags_of(const Layout& l) {
  std::vector<std::string> flags;
  for (const auto& [flag, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"--dp", std::to_string(l.dp)},
           {"--pp", std::to_string(l.pp)},
           {"--tp", std::to_string(l.tp)},
           {"--cp", std::to_string(l.cp)},
           {"--zero", std::to_string(l.zero)},
           {"--schedule", config::word_of(l.schedule)},
           {"--virtual-stages", std::to_string(l.virtual_stages)},
           {l.tokens > 0 ? "--batch.tokens-per-microbatch" : "--micro-batch-size", std::to_string(l.tokens > 0 ? l.tokens : l.micro)},
           {"--global-batch-size", std::to_string(l.global)},
           {"--recompute", config::word_of(l.recompute)},
           {"--offload", config::word_of(l.offload)},
           {"--precision.compute", config::word_of(l.precision)}})
    flags.insert(flags.end(), {flag, value});
  return flags;
}

bool is_of_layout(const std::string& key) {
  static const std::set<std::string> of_parallel{
      "layout",         "dp",        "pp",      "tp",           "cp",          "zero",          "schedule",
      "virtual_stages", "recompute", "offload", "stage_layers", "stage_costs", "stage_balance", "shares",
      "schedule_file"};
  const auto dot = key.find('.');
  const std::string section = key.substr(0, dot), name = dot == std::string::npos ? "" : key.substr(dot + 1);
  if (section == "batch") return name != "seq_len";
  return key == "precision.compute" || (section == "parallel" && of_parallel.count(name) > 0);
}

config::Settings with_layout(const config::Settings& settings, const Layout& l) {
  config::Settings s = settings;
  config::ParallelSettings& p = s.parallel;
  p.layout = config::LayoutChoice::stated;
  p.dp = l.dp;
  p.pp = l.pp;
  p.tp = l.tp;
  p.cp = l.cp;
  p.zero = l.zero;
  p.schedule = l.schedule;
  p.virtual_stages = l.virtual_stages;
  p.recompute = l.recompute;
  p.offload = l.offload;
  p.stage_layers.clear();
  p.stage_costs.clear();
  p.stage_balance = config::StageBalance::model;
  p.shares.clear();
  p.schedule_file.clear();
  s.precision.compute = l.precision;
  config::BatchSettings batch;
  batch.seq_len = settings.batch.seq_len;
  if (l.tokens > 0)
    batch.tokens_per_microbatch = l.tokens;
  else
    batch.micro_batch_size = l.micro;
  batch.global_batch_size = l.global;
  s.batch = batch;
  return s;
}

Layout layout_of(const config::Settings& s) {
  const config::ParallelSettings& p = s.parallel;
  return {plan::mesh_of(p),
          static_cast<int>(p.zero),
          p.schedule,
          static_cast<int>(p.virtual_stages),
          s.batch.micro_batch_size.value_or(1),
          s.batch.global_batch_size.value(),
          s.batch.tokens_per_microbatch.value_or(0),
          p.recompute,
          p.offload,
          s.precision.compute};
}

}  // namespace troika::planner
