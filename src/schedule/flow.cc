#include "schedule/flow.h"

#include <map>
#include <tuple>
#include <utility>

#include "schedule/border.h"
#include "schedule/fault.h"
#include "schedule/sizes.h"
#include "schedule/waits.h"

namespace troika::schedule {

bool blocks(Kind kind) { return kind == Kind::norm || kind == Kind::loss || kind == Kind::reduce_tied; }

namespace {

class Derivation {
 public:
  explicit Derivation(const Program& program) : program_(program) {}

  Flow run() {
    check_fields(program_);
    for (const auto& lane : program_.lanes) flow_.meeting_of.emplace_back(lane.size(), none);
    pair_messages();
    group_exchanges();
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane)
      flow_.waits.push_back(derive_waits(program_, lane, flow_.meeting_of[lane]));
    return std::move(flow_);
  }

 private:
  using Name = std::tuple<Kind, int, int>;  // of a message: kind, microbatch, stage; microbatches are global

  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      for (std::size_t i = 0; i < program_.lanes[lane].size(); ++i) visit(Place{lane, i}, program_.lanes[lane][i]);
    }
  }

  void add(const std::vector<Place>& parties) {
    for (const Place& at : parties) flow_.meeting_of[at.lane][at.index] = flow_.meetings.size();
    flow_.meetings.push_back({parties});
  }

  static Name receive_met_by(const Instruction& send) {
    if (send.kind == Kind::send_act) return {Kind::recv_act, send.microbatch, send.stage + 1};
    return {Kind::recv_grad, send.microbatch, send.stage - 1};
  }

  void pair_messages() {
    std::map<Name, Place> receives;
    each([&](Place at, const Instruction& i) {
      if (i.kind != Kind::recv_act && i.kind != Kind::recv_grad) return;
      if (!receives.emplace(Name{i.kind, i.microbatch, i.stage}, at).second)
        fault(program_, at.lane, at.index, "stands twice");
    });
    each([&](Place at, const Instruction& i) {
      if (i.kind != Kind::send_act && i.kind != Kind::send_grad) return;
      const auto found = receives.find(receive_met_by(i));
      if (found == receives.end()) fault(program_, at.lane, at.index, "no lane posts the matching receive");
      add({at, found->second});
      receives.erase(found);
    });
    if (receives.empty()) return;
    const Place left = receives.begin()->second;
    fault(program_, left.lane, left.index, "no lane sends the matching message");
  }

  // Kind, round, stage, segment, and what tells groups of lanes with equal names apart.
  using Key = std::tuple<Kind, int, int, int, std::size_t>;

  // False for what meets nobody.
  bool exchange_key(Place at, const Instruction& i, Key* key) const {
    const int round = i.microbatch < 0 ? -1 : program_.round_of(i.microbatch);
    switch (i.kind) {
      case Kind::norm:
      case Kind::loss:
        *key = {i.kind, -1, -1, -1, 0};
        return true;
      case Kind::reduce_tied:  // its two lanes name different stages
        *key = {i.kind, -1, -1, -1, at.lane % static_cast<std::size_t>(program_.dp)};
        return true;
      case Kind::gather_params:
      case Kind::reduce_grads:
      case Kind::gather_grads:
        *key = {i.kind, round, i.stage, i.segment, 0};
        return true;
      case Kind::fetch:
      case Kind::offload:
        *key = {i.kind, -1, i.stage, i.segment, at.lane + 1};
        return true;
      default:
        return false;
    }
  }

  std::size_t lanes_of(Kind kind) const {
    if (kind == Kind::norm || kind == Kind::loss) return program_.lanes.size();
    if (kind == Kind::fetch || kind == Kind::offload) return 1;
    if (kind == Kind::reduce_tied) return tied_on_one_lane(program_) ? 1 : 2;
    return static_cast<std::size_t>(program_.dp);
  }

  // The n-th exchange of a name on one lane meets the n-th on the others.
  void group_exchanges() {
    std::map<std::pair<Key, int>, std::vector<Place>> groups;
    std::map<std::pair<std::size_t, Key>, int> count;
    each([&](Place at, const Instruction& i) {
      Key key;
      if (exchange_key(at, i, &key)) groups[{key, count[{at.lane, key}]++}].push_back(at);
    });
    for (const auto& [key, places] : groups) {
      const std::size_t wanted = lanes_of(std::get<0>(key.first));
      if (places.size() != wanted) {
        fault(program_, places[0].lane, places[0].index,
              fmt::format("only {} of its {} lanes take part in it", places.size(), wanted));
      }
      add(places);
    }
  }

  const Program& program_;
  Flow flow_;
};

}  // namespace

Flow derive_flow(const Program& program) { return Derivation(program).run(); }

}  // namespace troika::schedule
