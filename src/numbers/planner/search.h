// Every layout of a training on a cluster, the fastest of those that fit first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "machine/cluster.h"
#include "plan/job.h"
#include "planner/estimate.h"

namespace troika::planner {

// The user's decisions; the rest is searched.
struct Fixed {
  std::optional<int> dp, pp, tp, cp, zero, virtual_stages;
  std::optional<std::int64_t> micro;
  std::optional<config::Schedule> schedule;
  std::optional<config::Recompute> recompute;
  std::optional<config::Offload> offload;
  std::optional<config::Precision> precision;
};
// By the keys that a command line states ("parallel.dp").
Fixed fixed_by(const std::vector<std::string>& stated, const config::Settings& settings);

struct Question {
  config::Settings settings;  // model.vocab is known
  plan::DataFacts data;       // where the data are known (know_data); else every sample counts as full
  base::Text data_note;       // what people are told of data that are not known; may be empty
  Fixed fixed;
  std::int64_t global = 0;  // sequences of a step
  machine::Cluster cluster;
  int world = 1;
  int ranks_per_host = 0;  // 0: one on each device
  int top = 10;
};

// What a search knows of data: the sizes of their microbatches in the first `most_planned` samples of the run, each kind counted once.
inline constexpr std::int64_t most_planned = std::int64_t{1} << 20;
void know_data(Question* question, const plan::DataFacts& data);

// A layout that does not fit.
struct Nearest {
  Layout layout;
  std::int64_t need_bytes = 0, have_bytes = 0;
};

struct Answer {
  std::vector<Estimate> best;      // those that fit, by positions/s; at most `top`
  std::optional<Nearest> nearest;  // of those that do not fit, the one that lacks least
  std::int64_t considered = 0;     // layouts that the settings allow
  std::int64_t too_large = 0;      // that were found not to fit
  std::int64_t followed = 0;       // whose programs were built and followed for their memory
  std::int64_t simulated = 0;      // in full; what is left is slower than the `best` by its lower bound
};

// The `top` fastest, each simulated in full; no other that fits is faster (bound.h). ConfigError when the settings allow no
// layout at all, in the words of config::resolve.
Answer search(const Question& question);

// The first of them; nothing where none fits or the settings allow none.
std::optional<Estimate> fastest_that_fits(const Question& question);

// The fastest that fits of every number of pipeline ranks, by positions/s: layouts that differ in more than a detail.
std::vector<Estimate> fastest_of_each_depth(const Question& question);

// Some layout that fits, of those that need least; nothing where none does.
std::optional<Layout> leanest_that_fits(const Question& question);

// One layout, with everything about it; nothing when the settings do not allow it.
std::optional<Estimate> estimate_layout(const Question& question, const Layout& layout);

// All that fit, each simulated, without a bound: what a sweep tries. By positions/s.
std::vector<Estimate> every_layout_that_fits(const Question& question);

}  // namespace troika::planner
