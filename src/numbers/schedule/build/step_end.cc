// The end of a program: what is left of reductions, the tied embedding, totals, norm and step; of an evaluation, loss.
#include <set>

#include "schedule/build/rank_builder.h"
#include "schedule/instruction/placement.h"

namespace troika::schedule {

namespace {

class StepEnd {
 public:
  StepEnd(const RankToBuild& rank, std::vector<Instruction>* out)
      : rank_(rank), stages_(trained_stages_of_rank(rank.program, rank.rank)), out_(out) {}

  void append() {
    if (rank_.program.evaluates()) return out_->push_back({Kind::loss, -1, -1, -1, 0});
    if (!rank_.reduces_early()) {
      for (const int stage : stages_) add(Kind::reduce_grads, stage, -1);
    }
    for (const int stage : tied_stages_of(rank_.program, rank_.rank)) {
      out_->push_back({Kind::reduce_tied, -1, stage, -1, 0});
    }
    if (rank_.program.zero == 0 && rank_.several_replicas()) append_totals();
    out_->push_back({Kind::norm, -1, -1, -1, 0});
    append_steps();
  }

 private:
  void add(Kind kind, int stage, int segment) { out_->push_back({kind, -1, stage, segment, 0}); }

  // Those that are not under way yet, in the order of their reductions.
  void append_totals() {
    if (!rank_.reduces_early()) {
      for (const int stage : stages_) add(Kind::gather_grads, stage, -1);
      return;
    }
    std::set<int> under_way;
    std::vector<Instruction> reduced;
    for (const Instruction& i : *out_) {
      if (i.kind == Kind::gather_grads) under_way.insert(i.segment);
      if (i.kind == Kind::reduce_grads) reduced.push_back(i);
    }
    for (const Instruction& i : reduced) {
      if (under_way.count(i.segment) == 0) add(Kind::gather_grads, i.stage, i.segment);
    }
  }

  void append_steps() {
    const bool gathers = rank_.program.shards(1) && !rank_.program.shards(3);
    const bool offloads = rank_.shape.offload != config::Offload::none;
    if (!gathers && !offloads) {
      for (const int stage : stages_) add(Kind::step, stage, -1);
      return;
    }
    std::vector<Instruction> segments;
    for (const int stage : stages_) {
      const auto [begin, end] = trained_segments_of(rank_.program, stage);
      for (int g = begin; g < end; ++g) segments.push_back({Kind::fetch, -1, stage, g, 0});
    }
    if (offloads && !segments.empty()) out_->push_back(segments.front());
    for (std::size_t k = 0; k < segments.size(); ++k) {
      if (offloads && k + 1 < segments.size()) out_->push_back(segments[k + 1]);  // copied while this one steps
      add(Kind::step, segments[k].stage, segments[k].segment);
      if (gathers) add(Kind::gather_params, segments[k].stage, segments[k].segment);
      if (offloads) add(Kind::offload, segments[k].stage, segments[k].segment);
    }
  }

  const RankToBuild& rank_;
  const std::vector<int> stages_;
  std::vector<Instruction>* out_;
};

}  // namespace

void append_end(const RankToBuild& rank, std::vector<Instruction>* out) { StepEnd(rank, out).append(); }

}  // namespace troika::schedule
