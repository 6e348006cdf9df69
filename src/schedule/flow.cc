#include "schedule/flow.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/border.h"
#include "schedule/fault.h"

namespace troika::schedule {

namespace {

// (kind, microbatch, stage, segment) of a send or receive: unique in a sound program, as microbatches are global.
using Name = std::tuple<Kind, int, int, int>;

Name name_of(const Instruction& i) { return {i.kind, i.microbatch, i.stage, i.segment}; }

class Derivation {
 public:
  explicit Derivation(const Program& program) : program_(program) {}

  Flow run() {
    for (const auto& lane : program_.lanes) {
      flow_.transfer_of.emplace_back(lane.size(), none);
      flow_.exchange_of.emplace_back(lane.size(), none);
      flow_.waits.emplace_back(lane.size());
    }
    pair_messages();
    group_exchanges();
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) derive_waits(lane);
    return std::move(flow_);
  }

 private:
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      for (std::size_t i = 0; i < program_.lanes[lane].size(); ++i) visit(Place{lane, i}, program_.lanes[lane][i]);
    }
  }

  static bool is_receive(Kind kind) { return kind == Kind::recv_act || kind == Kind::recv_grad; }

  // The receive that a send meets.
  static Name partner(const Instruction& send) {
    if (send.kind == Kind::send_act) return {Kind::recv_act, send.microbatch, send.stage + 1, send.segment};
    return {Kind::recv_grad, send.microbatch, send.stage - 1, send.segment};
  }

  void pair_messages() {
    std::map<Name, Place> receives;
    each([&](Place at, const Instruction& i) {
      if (is_receive(i.kind) && !receives.emplace(name_of(i), at).second)
        fault(program_, at.lane, at.index, "stands twice");
    });
    each([&](Place at, const Instruction& i) {
      if (i.kind != Kind::send_act && i.kind != Kind::send_grad) return;
      const auto found = receives.find(partner(i));
      if (found == receives.end()) fault(program_, at.lane, at.index, "no lane posts the matching receive");
      flow_.transfer_of[at.lane][at.index] = flow_.transfers.size();
      flow_.transfer_of[found->second.lane][found->second.index] = flow_.transfers.size();
      flow_.transfers.push_back({at, found->second});
      receives.erase(found);
    });
    if (receives.empty()) return;
    const Place left = receives.begin()->second;
    fault(program_, left.lane, left.index, "no lane sends the matching message");
  }

  // The lanes that take part in an exchange, ascending; the same on every one of them.
  std::vector<std::size_t> parties(std::size_t lane, const Instruction& i) const {
    const int dp_rank = static_cast<int>(lane) % program_.dp;
    std::vector<std::size_t> lanes;
    const auto add = [&](int l) { lanes.push_back(static_cast<std::size_t>(l)); };
    if (i.kind == Kind::norm) {
      for (std::size_t l = 0; l < program_.lanes.size(); ++l) lanes.push_back(l);
    } else if (i.kind == Kind::reduce_tied) {
      add(program_.lane_of_stage(0, dp_rank));
      if (!tied_on_one_lane(program_)) add(program_.lane_of_stage(program_.stages() - 1, dp_rank));
      std::sort(lanes.begin(), lanes.end());
    } else if (i.kind == Kind::gather_params || i.kind == Kind::reduce_grads) {
      for (int d = 0; d < program_.dp; ++d) add(program_.lane_of_stage(i.stage, d));
    } else {
      lanes.push_back(lane);
    }
    return lanes;
  }

  static bool is_exchange(Kind kind) {
    return kind == Kind::norm || kind == Kind::reduce_tied || kind == Kind::gather_params ||
           kind == Kind::reduce_grads || kind == Kind::offload || kind == Kind::fetch;
  }

  // The n-th exchange of a name and set of lanes on one lane meets the n-th on the others.
  void group_exchanges() {
    using Key = std::tuple<Name, std::vector<std::size_t>, int>;
    std::map<Key, std::vector<Place>> groups;
    std::map<std::pair<std::size_t, Name>, int> count;
    each([&](Place at, const Instruction& i) {
      if (!is_exchange(i.kind)) return;
      Name name = name_of(i);
      if (i.kind == Kind::reduce_tied) std::get<2>(name) = 0;  // its two lanes name different stages
      const int occurrence = count[{at.lane, name}]++;
      groups[{name, parties(at.lane, i), occurrence}].push_back(at);
    });
    for (const auto& [key, places] : groups) {
      const auto& lanes = std::get<1>(key);
      if (places.size() != lanes.size()) {
        fault(program_, places[0].lane, places[0].index,
              fmt::format("only {} of its {} lanes take part in it", places.size(), lanes.size()));
      }
      for (const Place& at : places) flow_.exchange_of[at.lane][at.index] = flow_.exchanges.size();
      flow_.exchanges.push_back({places});
    }
  }

  struct Pending {                                           // what the lane has started and not yet used up
    std::map<std::pair<int, int>, std::size_t> acts, grads;  // (microbatch, stage) -> transfer
    std::map<std::pair<int, int>, std::size_t> copies;       // (microbatch, stage) -> last offload or fetch
    std::map<std::pair<int, int>, std::size_t> gathers;      // (stage, segment) -> exchange
    std::vector<std::size_t> sends;
  };

  void derive_waits(std::size_t lane) {
    Pending pending;
    for (std::size_t i = 0; i < program_.lanes[lane].size(); ++i) {
      note_waits(program_.lanes[lane][i], pending, flow_.exchange_of[lane][i], &flow_.waits[lane][i]);
      note_starts(program_.lanes[lane][i], flow_.transfer_of[lane][i], flow_.exchange_of[lane][i], &pending);
    }
  }

  static void need(const std::map<std::pair<int, int>, std::size_t>& from, std::pair<int, int> key,
                   std::vector<std::size_t>* to) {
    const auto found = from.find(key);
    if (found != from.end()) to->push_back(found->second);
  }

  static void note_waits(const Instruction& i, const Pending& pending, std::size_t own_exchange, Waits* waits) {
    const std::pair<int, int> key{i.microbatch, i.stage};
    const bool backward = i.kind == Kind::bwd || i.kind == Kind::bwd_input;
    const bool uses_params = backward || i.kind == Kind::fwd || i.kind == Kind::refwd || i.kind == Kind::bwd_weight;
    if (i.kind == Kind::fwd) need(pending.acts, key, &waits->transfers);
    if (backward) need(pending.grads, key, &waits->transfers);
    if (backward || i.kind == Kind::refwd || i.kind == Kind::fetch) need(pending.copies, key, &waits->exchanges);
    for (const auto& [params, exchange] : pending.gathers) {
      const bool same = params.first == i.stage && (i.segment < 0 || params.second < 0 || params.second == i.segment);
      if (uses_params && same) waits->exchanges.push_back(exchange);
    }
    const bool together = i.kind == Kind::reduce_grads || i.kind == Kind::reduce_tied || i.kind == Kind::norm;
    if (together) waits->exchanges.push_back(own_exchange);
    if (i.kind == Kind::norm) waits->transfers = pending.sends;
  }

  static void note_starts(const Instruction& i, std::size_t transfer, std::size_t exchange, Pending* pending) {
    const std::pair<int, int> key{i.microbatch, i.stage};
    if (i.kind == Kind::recv_act) pending->acts[key] = transfer;
    if (i.kind == Kind::recv_grad) pending->grads[key] = transfer;
    if (i.kind == Kind::send_act || i.kind == Kind::send_grad) pending->sends.push_back(transfer);
    if (i.kind == Kind::offload || i.kind == Kind::fetch) pending->copies[key] = exchange;
    if (i.kind == Kind::gather_params) pending->gathers[{i.stage, i.segment}] = exchange;
    if (i.kind == Kind::free_params) pending->gathers.erase({i.stage, i.segment});
  }

  const Program& program_;
  Flow flow_;
};

}  // namespace

Flow derive_flow(const Program& program) { return Derivation(program).run(); }

}  // namespace troika::schedule
