#include "schedule/simulator.h"

namespace troika::schedule {

CostModel table_costs(const CostTable& table, const Link& link) {
  CostModel costs;
  costs.seconds = [table](const Instruction& i) {
    auto row = table.find({i.kind, i.stage});
    if (row == table.end()) row = table.find({i.kind, -1});
    return row == table.end() ? 0.0 : row->second;
  };
  costs.link = [link](int, int) { return link; };
  return costs;
}

CostModel unit_costs() {
  return table_costs({{{Kind::fwd, -1}, 1},
                      {{Kind::refwd, -1}, 1},
                      {{Kind::bwd, -1}, 1},
                      {{Kind::bwd_input, -1}, 1},
                      {{Kind::bwd_weight, -1}, 1},
                      {{Kind::step, -1}, 1}},
                     {});
}

}  // namespace troika::schedule
