// One way to lay a training over ranks: what a search chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/batch.h"
#include "config/resolve.h"
#include "mesh/mesh.h"

namespace troika::planner {

struct Layout : mesh::Shape {
  int zero = 0;
  config::Schedule schedule = config::Schedule::one_f_one_b;
  int virtual_stages = 1;
  std::int64_t micro = 1, global = 1;  // sequences of a microbatch, and of a step
  std::int64_t tokens = 0;             // above 0: of a microbatch, in place of `micro`, which is 1
  config::Recompute recompute = config::Recompute::none;
  config::Offload offload = config::Offload::none;
  config::Precision precision = config::Precision::fp32;

  int replicas() const { return dp * cp; }
  // Of one data-parallel rank; with `tokens` the most that there may be.
  std::int64_t microbatches() const { return config::divide_up(config::divide_up(global, micro), dp); }
};
bool operator==(const Layout& a, const Layout& b);

// "dp 2 x pp 2, zero 1, interleaved with 2 stages a rank, micro batch 4, recompute full, bf16": what is not the default of its
// kind is named, the axes always ("one rank" where there is one).
base::Text text_of(const Layout& layout);   // in both languages
std::string name_of(const Layout& layout);  // the English one

// {"--dp", "2", "--pp", "2", ...}: every choice, the batch too, for a command line of train.
std::vector<std::string> flags_of(const Layout& layout);

// Whether with_layout sets or drops the setting of this key.
bool is_of_layout(const std::string& key);

// The same training laid out so. What only goes with another layout (stage_layers, stage_costs, shares, schedule_file) is
// dropped.
config::Settings with_layout(const config::Settings& settings, const Layout& layout);

// The layout of resolved settings.
Layout layout_of(const config::Settings& resolved);

// A count as a factor of rates and times.
inline double real(std::int64_t x) { return static_cast<double>(x); }

}  // namespace troika::planner
