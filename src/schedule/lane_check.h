// What can be told from one lane's instructions alone.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "schedule/instruction.h"
#include "schedule/pass_table.h"

namespace troika::schedule {

// Walks one lane of a program that passed check_fields and refuses (BugError) what stands twice, too early, or not at
// all.
class LaneCheck {
 public:
  LaneCheck(const Program& program, int lane);
  void run();

 private:
  struct Segment {
    int last_weight = -1;  // microbatch
    bool gathered = false, used = false;
    bool reduced = false, totals = false, fetched = false, stepped = false, updated = false, offloaded = false;
  };

  void visit(const Instruction& i);
  void message(const Instruction& i);
  template <class Rule>
  void each_segment(const Instruction& i, Rule rule);  // rule(stage, segment, Segment&)

  // lane_check_compute.cc
  void forward(const Instruction& i, int segment);
  void again(const Instruction& i, int segment);
  void backward_input(const Instruction& i, int segment);
  void backward_weight(const Instruction& i, int segment);
  void use_parameters(const Instruction& i, int segment);
  void compute(const Instruction& i);

  // lane_check_exchange.cc
  void gather_params(const Instruction& i);
  void free_params(const Instruction& i);
  void reduce(const Instruction& i);
  void gather_grads(const Instruction& i);
  void reduce_tied(const Instruction& i);
  bool fully_reduced(int stage, int segment) const;

  // lane_check_end.cc
  void norm();  // or loss, its counterpart in an evaluation
  void step(const Instruction& i);
  void copy(const Instruction& i);
  void complete() const;
  void complete_passes(int stage) const;
  void complete_segment(int stage, int segment) const;

  void require(bool holds, const char* reason) const;
  void once(bool* done) const;  // refuses the second time
  Segment& segment_at(int stage, int segment) { return segments_[table_.slot(stage, segment)]; }
  const Segment& segment_at(int stage, int segment) const { return segments_[table_.slot(stage, segment)]; }

  const Program& program_;
  std::size_t lane_;
  int dp_rank_;
  std::size_t index_ = 0;
  PassTable table_;
  std::vector<Segment> segments_;                            // by slot of the table
  std::set<int> loaded_, tied_;                              // microbatches, stages
  std::set<std::pair<Kind, std::pair<int, int>>> messages_;  // kind, (microbatch, stage)
  bool norm_ = false;
};

template <class Rule>
void LaneCheck::each_segment(const Instruction& i, Rule rule) {
  const auto [begin, end] = segments_of(program_, i);
  for (int g = begin; g < end; ++g) rule(i.stage, g, segment_at(i.stage, g));
}

}  // namespace troika::schedule
