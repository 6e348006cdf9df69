// What can be told from one lane's instructions alone.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "schedule/instruction.h"

namespace troika::schedule {

// Walks one lane in order and refuses (BugError) what stands twice, too early, on the wrong lane, or not at all.
class LaneCheck {
 public:
  LaneCheck(const Program& program, int lane);
  void run();

 private:
  using Pair = std::pair<int, int>;          // (microbatch, stage) or (stage, segment)
  using Triple = std::tuple<int, int, int>;  // (microbatch, stage, segment)

  void visit(const Instruction& i);
  void fields(const Instruction& i) const;
  void forward(const Instruction& i);
  void again(const Instruction& i);
  void backward_input(const Instruction& i);
  void backward_weight(const Instruction& i);
  void message(const Instruction& i);
  void sharded(const Instruction& i);
  void copies(const Instruction& i);
  void reduce(const Instruction& i);
  void reduce_tied(const Instruction& i);
  void finish(const Instruction& i);
  void complete() const;
  void complete_stage(int stage) const;

  void require(bool holds, const char* reason) const;
  template <class Key>
  void once(std::set<Key>* seen, const Key& key) const {
    require(seen->insert(key).second, "stands twice");
  }
  void require_gathered(const Instruction& i) const;
  bool has_stage(int stage) const;
  bool all_segments(const std::set<Triple>& done, int microbatch, int stage) const;
  bool weights_done(int stage, int segment) const;

  const Program& program_;
  std::size_t lane_;
  std::size_t index_ = 0;
  std::set<int> loaded_, tied_;
  std::set<Pair> received_act_, received_grad_, sent_act_, sent_grad_, offloaded_, fetched_;
  std::set<Triple> forward_, again_, input_, weight_;
  std::set<Pair> sharded_, gathered_, reduced_;  // (stage, segment)
  std::map<Pair, int> last_weight_;              // (stage, segment) -> microbatch
  bool norm_ = false, step_ = false;
};

}  // namespace troika::schedule
