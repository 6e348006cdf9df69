// What it costs to know where a rank is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "train/recorder.h"

namespace troika::train {
namespace {

// A step of a small model has about 50 instructions and takes 10 ms, of which half a percent is 50 microseconds.
TEST(Recorder, TakesLessThanAMicrosecondForAnInstruction) {
  constexpr int instructions = 50, steps = 400, tries = 5;
  Whereabouts where;
  Recorder recorder(Recorder::Of::training, &where);
  const schedule::Instruction instruction{schedule::Kind::fwd, 3, 2, -1, 0};
  double best = 1;
  std::int64_t step = 0;
  for (int i = 0; i < tries; ++i) {
    const double begin = base::monotonic_seconds();
    for (int s = 0; s < steps; ++s, ++step) {
      for (int n = 0; n < instructions; ++n) {
        recorder.begins(step, instruction);
        recorder.waited(instruction, begin, begin + 1e-3);
        recorder.ended(instruction, begin, begin + 2e-3);
      }
    }
    best = std::min(best, (base::monotonic_seconds() - begin) / (steps * instructions));
  }
  std::printf("%.0f ns an instruction, %.1f us a step of %d\n", best * 1e9, best * instructions * 1e6, instructions);
  EXPECT_LT(best, 1e-6);
}

}  // namespace
}  // namespace troika::train
