#include "plan/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "shape/adapter.h"

namespace troika::plan {

static Ranges ranges_of(const Job& job, int stages) {
  const auto& parallel = job.settings().parallel;
  if (!parallel.stage_layers.empty()) return partition_by_layers(parallel.stage_layers, job.model().layers);
  if (!parallel.stage_costs.empty()) return partition_by_cost(parallel.stage_costs, stages);
  // Forwards alone, as an evaluation has them, cost the same share of the whole in every segment.
  const shape::Trained passes = job.trains() ? job.trained : shape::Trained{};
  return partition_by_cost(shape::segment_costs(job.model(), job.resolved.batch.seq_len, passes), stages);
}

Stages cut_stages(const Job& job) {
  const int count = job.shape.pp * static_cast<int>(job.settings().parallel.virtual_stages);
  const Ranges ranges = ranges_of(job, count);
  Stages stages;
  for (const auto& [first, end] : ranges) stages.segment_begin.push_back(first);
  stages.segment_begin.push_back(ranges.back().second);
  for (int stage = 0; stage < static_cast<int>(ranges.size()); ++stage) stages.pp_rank.push_back(stage % job.shape.pp);
  return stages;
}

Stages stages_of(const schedule::Program& program) { return {program.segment_begin, program.pp_rank_of_stage}; }

std::vector<int> Stages::segments_of(int pp_rank_of_interest) const {
  std::vector<int> segments;
  for (std::size_t stage = 0; stage < pp_rank.size(); ++stage) {
    if (pp_rank[stage] != pp_rank_of_interest) continue;
    for (int g = segment_begin[stage]; g < segment_begin[stage + 1]; ++g) segments.push_back(g);
  }
  return segments;
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double slack = 1e-12;  // relative; sums of equal costs in another order count as equal

// Best cut of segments [i, n) into k stages, for all i and k, where `join(stage cost, rest)` is to be minimal.
class Search {
 public:
  Search(const std::vector<double>& cost, int stages) : cost_(cost), stages_(static_cast<std::size_t>(stages)) {
    blocks_needed_ = cost.size() >= stages_ + 2;
  }

  template <class Join>
  double best(Join join) {
    const std::size_t n = cost_.size();
    best_.assign(stages_ + 1, std::vector<double>(n + 1, infinity));
    end_.assign(stages_ + 1, std::vector<std::size_t>(n + 1, n));
    best_[0][n] = 0;
    for (std::size_t k = 1; k <= stages_; ++k) {
      for (std::size_t i = 0; i < n; ++i) choose_end(k, i, join);
    }
    return best_[stages_][0];
  }

  Ranges ranges() const {
    Ranges result;
    std::size_t begin = 0;
    for (std::size_t k = stages_; k > 0; --k) {
      const std::size_t end = end_[k][begin];
      result.emplace_back(static_cast<int>(begin), static_cast<int>(end));
      begin = end;
    }
    return result;
  }

 private:
  // Ends are tried from short to long and only a real gain replaces, so ties keep earlier stages short.
  template <class Join>
  void choose_end(std::size_t k, std::size_t begin, Join join) {
    double stage = 0;
    for (std::size_t end = begin + 1; end <= cost_.size(); ++end) {
      stage += cost_[end - 1];
      const double rest = best_[k - 1][end];
      if (rest == infinity || !allowed(begin, end)) continue;
      const double total = join(stage, rest);
      if (!(total < best_[k][begin] * (1 - slack)) && best_[k][begin] != infinity) continue;
      if (total == infinity) continue;
      best_[k][begin] = total;
      end_[k][begin] = end;
    }
  }

  bool allowed(std::size_t begin, std::size_t end) const {
    const bool has_block = std::max<std::size_t>(begin, 1) < std::min(end, cost_.size() - 1);
    return has_block || !blocks_needed_;
  }

  const std::vector<double>& cost_;
  std::size_t stages_;
  bool blocks_needed_ = true;
  std::vector<std::vector<double>> best_;  // [stages left][first segment]
  std::vector<std::vector<std::size_t>> end_;
};

void refuse_bad(const std::vector<double>& cost, int stages) {
  const auto blocks = std::max<std::int64_t>(static_cast<std::int64_t>(cost.size()) - 2, 0);
  if (stages < 1 || static_cast<std::size_t>(stages) > cost.size()) {
    throw base::ConfigError(base::say("a model of {} transformer layers cannot be split into {} pipeline stages; choose pp from 1 to {}", blocks, stages, std::max<std::int64_t>(blocks, 1)));
  }
  for (std::size_t i = 0; i < cost.size(); ++i) {
    if (std::isfinite(cost[i]) && cost[i] >= 0) continue;
    throw base::BugError(fmt::format("segment {} has the cost {}, but costs are finite and not negative", i, cost[i]));
  }
}

}  // namespace

Ranges partition_by_cost(const std::vector<double>& segment_cost, int stages) {
  refuse_bad(segment_cost, stages);
  Search search(segment_cost, stages);
  const double limit = search.best([](double stage, double rest) { return std::max(stage, rest); }) * (1 + slack);
  search.best([limit](double stage, double rest) { return stage <= limit ? stage * stage + rest : infinity; });
  return search.ranges();
}

Ranges partition_by_layers(const std::vector<std::int64_t>& layers_per_stage, std::int64_t layers) {
  const std::int64_t total = std::accumulate(layers_per_stage.begin(), layers_per_stage.end(), std::int64_t{0});
  for (std::size_t i = 0; i < layers_per_stage.size(); ++i) {
    if (layers_per_stage[i] >= 0) continue;
    throw base::ConfigError(base::say("stage {} is given {} transformer layers; give 0 or more", i, layers_per_stage[i]));
  }
  if (layers_per_stage.empty() || total != layers) {
    throw base::ConfigError(base::say("the layers per stage add up to {}, but the model has {} transformer layers", total, layers));
  }
  Ranges result;
  int begin = 0;
  for (std::size_t s = 0; s < layers_per_stage.size(); ++s) {
    const bool first = s == 0, last = s + 1 == layers_per_stage.size();
    const int end = begin + static_cast<int>(layers_per_stage[s]) + (first ? 1 : 0) + (last ? 1 : 0);
    if (end == begin) throw base::ConfigError(base::say("stage {} would be empty; give it at least one transformer layer", s));
    result.emplace_back(begin, end);
    begin = end;
  }
  return result;
}

std::vector<BucketShape> buckets_of(const Job& job, const Stages& stages, int segment,
                                    const shape::TensorShare& share) {
  using Part = BucketShape::Part;
  const bool trained = job.trained.own(segment), together = stages.embedding_and_head_together();
  const bool tied = job.model().tie_embeddings, head = segment + 1 == shape::segment_count(job.model());
  std::vector<BucketShape> buckets{{shape::segment_layout(job.model(), segment, share), Part::own, trained}};
  if (tied && segment == 0) buckets.front().uses = 2;
  if (tied && segment == 0 && together) buckets.front().uses_here = 2;
  if (tied && head) {
    buckets.push_back({shape::tied_layout(job.model(), share), together ? Part::shared_table : Part::table, trained, 2,
                       together ? 2 : 1});
  }
  shape::SegmentLayout adapters = shape::adapter_layout(job.model(), job.trained.lora, segment, share);
  if (adapters.elements > 0) buckets.push_back({std::move(adapters), Part::adapter});
  return buckets;
}

shape::SumShape sum_shape(const Job& job, const BucketShape& bucket, const mesh::Coordinate& at) {
  shape::SumShape sum = job.sum_shape(at);
  sum.uses = bucket.uses;
  sum.uses_here = bucket.uses_here;
  return sum;
}

shape::ShardPlan shard_plan(const Job& job, const BucketShape& bucket) {
  return shape::shard_plan(bucket.layout, job.replicas(), job.optimizer().division);
}

}  // namespace troika::plan
