#include "schedule/waits.h"

#include <map>
#include <utility>

#include "schedule/border.h"

namespace troika::schedule {

namespace {

// What the lane has started and not yet waited for. A segment of -1 stands for the whole stage.
class Pending {
 public:
  explicit Pending(const Program& program) : program_(program) {}

  std::vector<std::size_t> take_waits(const Instruction& i) {
    std::vector<std::size_t> waits;
    if (i.kind == Kind::fwd) take_message(&acts_, i, &waits);
    if (is_input_backward(i.kind)) take_message(&grads_, i, &waits);
    if (uses_parameters(i.kind)) take(&gathers_, i.stage, i.segment, &waits);
    if (i.kind == Kind::reduce_grads && program_.reduces_each_microbatch())
      take_all(&reduces_, reduces_.begin(), reduces_.end(), &waits);
    if (i.kind == Kind::gather_grads) take(&reduces_, i.stage, i.segment, &waits);
    if (i.kind == Kind::reduce_tied) take_tied(i, &waits);
    if (i.kind == Kind::norm) take_for_norm(&waits);
    if (i.kind == Kind::loss || is_unanswered(program_, i)) take_all(&unanswered_, &waits);
    if (i.kind == Kind::step) {
      take(&totals_, i.stage, i.segment, &waits);
      take(&fetches_, i.stage, i.segment, &waits);
    }
    return waits;
  }

  void start(const Instruction& i, std::size_t meeting) {
    const std::pair<int, int> segment{i.stage, i.segment};
    if (i.kind == Kind::recv_act) acts_[{i.microbatch, i.stage}] = meeting;
    if (i.kind == Kind::recv_grad) grads_[{i.microbatch, i.stage}] = meeting;
    if (is_unanswered(program_, i)) {
      unanswered_.push_back(meeting);
    } else if (i.kind == Kind::send_act || i.kind == Kind::send_grad) {
      sends_.push_back(meeting);
    }
    if (i.kind == Kind::gather_params) gathers_[segment].push_back(meeting);
    if (i.kind == Kind::reduce_grads) reduces_[segment].push_back(meeting);
    if (i.kind == Kind::gather_grads) totals_[segment].push_back(meeting);
    if (i.kind == Kind::fetch) fetches_[segment].push_back(meeting);
  }

 private:
  using Messages = std::map<std::pair<int, int>, std::size_t>;                // (microbatch, stage) -> meeting
  using Exchanges = std::map<std::pair<int, int>, std::vector<std::size_t>>;  // (stage, segment) -> meetings

  static void take_message(Messages* from, const Instruction& i, std::vector<std::size_t>* to) {
    const auto found = from->find({i.microbatch, i.stage});
    if (found == from->end()) return;
    to->push_back(found->second);
    from->erase(found);
  }

  static void take_all(Exchanges* from, Exchanges::iterator begin, Exchanges::iterator end,
                       std::vector<std::size_t>* to) {
    for (auto at = begin; at != end; ++at) to->insert(to->end(), at->second.begin(), at->second.end());
    from->erase(begin, end);
  }

  // What touches the segment, or the whole stage.
  static void take(Exchanges* from, int stage, int segment, std::vector<std::size_t>* to) {
    const int last = segment < 0 ? max_segments : segment, first = segment < 0 ? 0 : segment;
    take_all(from, from->lower_bound({stage, first}), from->upper_bound({stage, last}), to);
    take_all(from, from->lower_bound({stage, -1}), from->upper_bound({stage, -1}), to);
  }

  void take_tied(const Instruction& i, std::vector<std::size_t>* waits) {
    const int last = program_.stages() - 1;
    if (i.stage == 0) take(&reduces_, 0, 0, waits);
    if (i.stage == last || tied_on_one_lane(program_)) take(&reduces_, last, program_.segments() - 1, waits);
  }

  static void take_all(std::vector<std::size_t>* sends, std::vector<std::size_t>* to) {
    to->insert(to->end(), sends->begin(), sends->end());
    sends->clear();
  }

  void take_for_norm(std::vector<std::size_t>* waits) {
    take_all(&unanswered_, waits);
    take_all(&sends_, waits);
    take_all(&reduces_, reduces_.begin(), reduces_.end(), waits);
  }

  const Program& program_;
  Messages acts_, grads_;
  Exchanges gathers_, reduces_, totals_, fetches_;
  std::vector<std::size_t> sends_, unanswered_;
};

}  // namespace

std::vector<std::vector<std::size_t>> derive_waits(const Program& program, std::size_t lane,
                                                   const std::vector<std::size_t>& meeting_of) {
  std::vector<std::vector<std::size_t>> waits;
  Pending pending(program);
  for (std::size_t i = 0; i < program.lanes[lane].size(); ++i) {
    waits.push_back(pending.take_waits(program.lanes[lane][i]));
    pending.start(program.lanes[lane][i], meeting_of[i]);
  }
  return waits;
}

}  // namespace troika::schedule
