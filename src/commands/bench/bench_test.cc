#include "commands/bench/bench.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace troika::commands {
namespace {

void expect_refused(const std::vector<std::string>& words, const std::string& why) {
  try {
    run_bench(words, {});
    FAIL() << "no error where '" << why << "' was expected";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(why));
  }
}

TEST(Bench, RefusesWhatItDoesNotKnow) {
  expect_refused({}, "needs one of kernels, step, comm");
  expect_refused({"steps"}, "did you mean 'step'?");
  expect_refused({"frobnicate"}, "there is no bench 'frobnicate'.");
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  expect_refused({"step", "--steps", "1"}, "--steps is 1");
  expect_refused({"step", "--parallel.offload", "file"}, "give --out");
  expect_refused({"step", "--seconds", "soon"}, "--seconds is 'soon'");
  expect_refused({"kernels", "--precision.compute", "bf16"}, "measures fp32");
  expect_refused({"kernels", "--device", "cuda"}, "--device cpu");
  expect_refused({"comm"}, "needs two ranks");
  expect_refused({"comm", "--most", "1"}, "--most is '1'");
}

}  // namespace
}  // namespace troika::commands
