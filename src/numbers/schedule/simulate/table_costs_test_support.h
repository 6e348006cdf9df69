// Costs of instructions as a table.
#pragma once

#include <map>
#include <utility>

#include "schedule/simulate/simulator.h"

namespace troika::schedule {

// By kind and stage; stage -1: all stages of the kind that have no row; no row: 0.
using CostTable = std::map<std::pair<Kind, int>, double>;
inline CostModel table_costs(const CostTable& table, const Link& link) {
  CostModel costs;
  costs.seconds = [table](int, const Instruction& i) {
    auto row = table.find({i.kind, i.stage});
    if (row == table.end()) row = table.find({i.kind, -1});
    return row == table.end() ? 0.0 : row->second;
  };
  costs.link = [link](int, int) { return link; };
  return costs;
}

}  // namespace troika::schedule
