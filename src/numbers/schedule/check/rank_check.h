// The checks that need one rank's instructions alone.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "schedule/check/pass_record.h"

namespace troika::schedule {

// Walks one rank of a program that passed check_fields and refuses (BugError) what appears twice, too early, or not at
// all.
class RankCheck {
 public:
  RankCheck(const Program& program, int rank);
  void run();

 private:
  struct Segment {
    int last_weight = -1;  // microbatch
    bool gathered = false, used = false;
    bool reduced = false, totals = false, fetched = false, stepped = false, updated = false, offloaded = false;
  };

  void visit(const Instruction& i);
  void compute(const Instruction& i);
  void forward(const Instruction& i, int segment);
  void recompute(const Instruction& i, int segment);
  void backward_input(const Instruction& i, int segment);
  void backward_weight(const Instruction& i, int segment);
  void use_parameters(const Instruction& i, int segment);
  void message(const Instruction& i);
  bool stands(Kind kind, int microbatch, int stage) const;  // before the instruction that is visited

  // rank_check_update.cc
  void gather_params(const Instruction& i);
  void free_params(const Instruction& i);
  void reduce_grads(const Instruction& i);
  void gather_grads(const Instruction& i);
  void reduce_tied(const Instruction& i);
  bool fully_reduced(int stage, int segment) const;
  bool is_shared_table(int segment) const;  // of the embedding, which the head adds to on this rank, or of the head
  bool last_is_reduced(int stage, int segment) const;
  void require_shared_table(int segment) const;
  void summary();  // norm, or loss, its counterpart in an evaluation
  void step(const Instruction& i);
  void fetch(const Instruction& i);
  void offload(const Instruction& i);
  void complete() const;
  void complete_passes(int stage) const;
  void complete_segment(int stage, int segment) const;

  template <class Rule>
  void each_segment(const Instruction& i, Rule rule);  // rule(stage, segment, Segment&)
  void require(bool holds, const char* reason) const;
  void once(bool* done) const;  // refuses the second time
  Segment& segment_at(int stage, int segment) { return segments_[record_.slot(stage, segment)]; }
  const Segment& segment_at(int stage, int segment) const { return segments_[record_.slot(stage, segment)]; }

  const Program& program_;
  const std::size_t rank_;
  const int dp_rank_;
  std::size_t index_ = 0;
  PassRecord record_;
  std::vector<Segment> segments_;                     // by slot of the record
  std::set<std::tuple<Kind, int, int, int>> stands_;  // kind, microbatch, stage, segment of what may stand once
  bool summed_ = false;
};

template <class Rule>
void RankCheck::each_segment(const Instruction& i, Rule rule) {
  const auto [begin, end] = segments_of(program_, i);
  for (int g = begin; g < end; ++g) rule(i.stage, g, segment_at(i.stage, g));
}

}  // namespace troika::schedule
