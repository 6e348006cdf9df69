#include "commands/bench/bench.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::commands {
namespace {

void expect_refused(Words words, const std::string& why) {
  words.insert(words.begin(), "bench");
  try {
    run_bench(call_of(words));
    FAIL() << "no error where '" << why << "' was expected";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(why));
  }
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  expect_refused({"step", "--steps", "1"}, "--steps is 1");
  expect_refused({"step", "--parallel.offload", "file"}, "give --out");
  expect_refused({"step", "--seconds", "soon"}, "--seconds takes a time such as 30, 500ms or 2m, not 'soon'");
  expect_refused({"kernels", "--precision.compute", "fp16"}, "measures fp32 and bf16");
  expect_refused({"kernels", "--device", "cuda"}, "--device cpu");
  expect_refused({"comm"}, "needs two ranks");
  expect_refused({"comm", "--most", "1"}, "--most must be at least 1024, not 1");
}

}  // namespace
}  // namespace troika::commands
