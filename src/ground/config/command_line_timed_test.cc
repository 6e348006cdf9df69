#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/text_files_test_support.h"
#include "config/command_line.h"
#include "config/config.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

TEST(ParseSettings, TakesUnderTwoMilliseconds) {
  const std::string path = temporary_file("full.yaml", to_yaml(Settings{}));
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    parse_settings({path, "--steps", "3", "--pp", "2", "--lr", "1e-3"}, {{"BATCH_SIZE", "16"}});
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("microseconds", static_cast<int>(best * 1e6));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const double limit = 0.040;  // instrumented code
#else
  const double limit = 0.002;
#endif
  EXPECT_LT(best, limit);
}

}  // namespace
}  // namespace troika::config
