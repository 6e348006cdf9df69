#include "train/chance_program_test_support.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace troika::train {
namespace {

using schedule::Instruction;
using schedule::Kind;
using schedule::Program;

std::vector<int> cut(int segments, int stages, base::Draw* draw) {
  std::set<int> begins{0};
  while (static_cast<int>(begins.size()) < stages) begins.insert(draw->from(1, segments - 1));
  std::vector<int> borders(begins.begin(), begins.end());
  borders.push_back(segments);
  return borders;
}

// Every rank has one stage at least.
std::vector<int> place(int stages, int pp, base::Draw* draw) {
  std::vector<int> ranks;
  for (int stage = 0; stage < stages; ++stage) ranks.push_back(stage < pp ? stage : draw->from(0, pp - 1));
  for (int stage = stages - 1; stage > 0; --stage)
    std::swap(ranks[static_cast<std::size_t>(stage)], ranks[static_cast<std::size_t>(draw->from(0, stage))]);
  return ranks;
}

// Passes over whole stages in an order of all ranks together; a rank takes those of its stages. The microbatch is the
// index within the share.
class Passes {
 public:
  Passes(const Program& program, base::Draw* draw) : program_(program), split_(draw->one_in(2)), draw_(draw) {
    for (int m = 0; m < program.share_size(0); ++m) {
      for (int s = 0; s < program.stages(); ++s) {
        waiting_.push_back({Kind::fwd, m, s});
        waiting_.push_back({split_ ? Kind::bwd_input : Kind::bwd, m, s});
        if (split_) waiting_.push_back({Kind::bwd_weight, m, s});
      }
    }
  }

  std::vector<Instruction> in_any_order() {
    std::vector<Instruction> order;
    while (!waiting_.empty()) {
      std::vector<std::size_t> ready;
      for (std::size_t i = 0; i < waiting_.size(); ++i) {
        if (may_run(waiting_[i])) ready.push_back(i);
      }
      const std::size_t next = draw_->any(ready);
      order.push_back(waiting_[next]);
      done_.insert(key(waiting_[next]));
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return order;
  }

 private:
  using Key = std::tuple<Kind, int, int>;
  static Key key(const Instruction& i) { return {i.kind, i.microbatch, i.stage}; }
  bool done(Kind kind, int m, int s) const { return done_.count({kind, m, s}) > 0; }

  bool may_run(const Instruction& i) const {
    const int m = i.microbatch, s = i.stage;
    if (i.kind == Kind::fwd) return s == 0 || done(Kind::fwd, m, s - 1);
    if (i.kind == Kind::bwd_weight) return done(Kind::bwd_input, m, s);
    return s + 1 == program_.stages() ? done(Kind::fwd, m, s) : done(i.kind, m, s + 1);
  }

  const Program& program_;
  const bool split_;
  base::Draw* const draw_;
  std::vector<Instruction> waiting_;
  std::set<Key> done_;
};

class Writer {
 public:
  Writer(const Program& program, int dp_rank) : program_(program), share_(program.microbatches_of(dp_rank)) {}

  void write(Instruction pass, bool again, std::vector<Instruction>* instructions) {
    pass.microbatch = share_[static_cast<std::size_t>(pass.microbatch)];
    const int m = pass.microbatch, s = pass.stage;
    const bool forward = pass.kind == Kind::fwd, weight = pass.kind == Kind::bwd_weight;
    const bool reads = s == 0 || s + 1 == program_.stages();
    if (forward && reads && loaded_.insert({rank(s), m}).second) instructions->push_back({Kind::load, m});
    if (forward && other_rank(s, s - 1)) instructions->push_back({Kind::recv_act, m, s});
    if (!forward && !weight && other_rank(s, s + 1)) instructions->push_back({Kind::recv_grad, m, s});
    if (again) instructions->push_back({Kind::refwd, m, s});
    instructions->push_back(pass);
    if (forward && other_rank(s, s + 1)) instructions->push_back({Kind::send_act, m, s});
    if (!forward && !weight && other_rank(s, s - 1)) instructions->push_back({Kind::send_grad, m, s});
  }

  void write_end(int pp_rank, std::vector<Instruction>* instructions) const {
    const auto each_stage = [&](Kind kind) {
      for (int s = 0; s < program_.stages(); ++s) {
        if (rank(s) == pp_rank) instructions->push_back({kind, -1, s});
      }
    };
    const int last = program_.stages() - 1;
    each_stage(Kind::reduce_grads);
    const bool apart = program_.tied && rank(0) != rank(last);
    if (apart && rank(0) == pp_rank) instructions->push_back({Kind::reduce_tied, -1, 0});
    if (apart && rank(last) == pp_rank) instructions->push_back({Kind::reduce_tied, -1, last});
    if (program_.replicas > 1) each_stage(Kind::gather_grads);
    instructions->push_back({Kind::norm});
    each_stage(Kind::step);
  }

 private:
  int rank(int stage) const { return program_.pp_rank_of_stage[static_cast<std::size_t>(stage)]; }
  bool other_rank(int stage, int neighbour) const {
    return neighbour >= 0 && neighbour < program_.stages() && rank(stage) != rank(neighbour);
  }

  const Program& program_;
  const std::vector<int> share_;
  std::set<std::pair<int, int>> loaded_;  // pp rank, microbatch
};

}  // namespace

schedule::Program program_of_chance(const ChanceShape& shape, base::Draw* draw) {
  Program program;
  program.pp = shape.pp;
  program.dp = program.replicas = shape.dp;
  program.microbatches = shape.microbatches;
  program.tied = shape.tied;
  const int stages = draw->from(shape.pp, std::min(shape.segments, 3 * shape.pp));
  program.segment_begin = cut(shape.segments, stages, draw);
  program.pp_rank_of_stage = place(stages, shape.pp, draw);
  program.ranks.resize(static_cast<std::size_t>(shape.pp * shape.dp));
  const bool repeats = draw->one_in(2);
  std::vector<Writer> writers;
  for (int dp_rank = 0; dp_rank < shape.dp; ++dp_rank) writers.emplace_back(program, dp_rank);
  const auto grid_rank = [&](int pp_rank, int dp_rank) {
    return &program.ranks[static_cast<std::size_t>(program.grid_rank(pp_rank, dp_rank))];
  };
  for (const Instruction& pass : Passes(program, draw).in_any_order()) {
    const bool backward = pass.kind == Kind::bwd || pass.kind == Kind::bwd_input;
    const bool again = backward && repeats && draw->one_in(2);
    const int pp_rank = program.pp_rank_of_stage[static_cast<std::size_t>(pass.stage)];
    for (int dp_rank = 0; dp_rank < shape.dp; ++dp_rank)
      writers[static_cast<std::size_t>(dp_rank)].write(pass, again, grid_rank(pp_rank, dp_rank));
  }
  for (int pp_rank = 0; pp_rank < shape.pp; ++pp_rank) {
    for (int dp_rank = 0; dp_rank < shape.dp; ++dp_rank)
      writers[static_cast<std::size_t>(dp_rank)].write_end(pp_rank, grid_rank(pp_rank, dp_rank));
  }
  return program;
}

}  // namespace troika::train
