#include "cuda/test_runner_test_support.h"

#include <utility>

namespace troika::cuda {
namespace {

std::unique_ptr<TestRunner>& chosen() {
  static std::unique_ptr<TestRunner> runner = std::make_unique<TestRunner>();
  return runner;
}

}  // namespace

TestRunner& test_runner() { return *chosen(); }
void choose_test_runner(std::unique_ptr<TestRunner> runner) { chosen() = std::move(runner); }

}  // namespace troika::cuda
