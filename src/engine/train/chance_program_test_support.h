// Step programs that no builder writes.
#pragma once

#include "base/draw_test_support.h"
#include "schedule/instruction/program.h"

namespace troika::train {

struct ChanceShape {
  int pp = 1, dp = 1, segments = 3, microbatches = 1;
  bool tied = false;
};

// ZeRO 0. Stages of any length lie on any rank, also neighbours on one; passes come in any order that their data allow;
// backwards are whole or split, and some forwards are repeated. Bytes are left out.
schedule::Program program_of_chance(const ChanceShape& shape, base::Draw* draw);

}  // namespace troika::train
