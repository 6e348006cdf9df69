// The cost of knowing where a rank is.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/temporary_folder_test_support.h"
#include "records/run_reader.h"
#include "train/recorder.h"
#include "train/run_records.h"

namespace troika::train {
namespace {

// A step of a small model has about 50 instructions and takes 10 ms, of which half a percent is 50 microseconds.
TEST(Recorder, TakesLessThanAMicrosecondForAnInstruction) {
  constexpr int instructions = 50, steps = 400, tries = 5;
  RankActivity where;
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

double processor_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// A sample every 5 s, with all that the host tells: 0.1 % of a core are 5 ms.
TEST(RunRecords, SampleTakesLessThanAThousandthOfItsInterval) {
  const base::TemporaryFolder folder;
  RankActivity where;
  const double before = processor_seconds();
  {
    RunRecords records({folder.path(), 0, 0, 0, "launch", "", 0.02}, where, nullptr, {});
    records.prepares({{}});
    ::usleep(1000000);
  }
  const double used = processor_seconds() - before;
  records::RunReader run(folder.path());
  run.refresh();
  const auto taken = static_cast<double>(run.samples().at(0).size());
  std::printf("%.2f ms a sample, of %.0f\n", used / taken * 1e3, taken);
  EXPECT_GT(taken, 10);
  EXPECT_LT(used / taken, 5e-3);
}

}  // namespace
}  // namespace troika::train
