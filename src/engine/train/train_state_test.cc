#include "train/train_state.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text_files_test_support.h"
#include "train/run.h"

namespace troika::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

checkpoint::Found with_fact(const std::string& name, const std::string& value) {
  checkpoint::Found found;
  found.path = "run/checkpoints/step-00000010";
  found.facts.extra = {{"samples_seen", "40"}, {"tokens_seen", "900"}};
  found.facts.extra[name] = value;
  return found;
}

TEST(TrainState, CountsThatNoRunHasAreRefusedByName) {
  EXPECT_EQ(progress_of(with_fact("samples_seen", "80")).samples, 80);
  for (const char* name : {"samples_seen", "tokens_seen", "skipped_steps", "repeated_steps", "rolled_back",
                           "evaluations_without_lower"}) {
    for (const char* value : {"-1", "9223372036854775807", "1e300", "0.5", "nan"})
      EXPECT_THAT(base::message_of<base::DataError>([&] { progress_of(with_fact(name, value)); }),
                  AllOf(HasSubstr("run/checkpoints/step-00000010"), HasSubstr(name)));
  }
}

TEST(TrainState, ScalesAndExponentsThatNoRunHasAreRefusedByName) {
  for (const char* value : {"0", "-8", "inf", "nan"}) {
    checkpoint::Found found = with_fact("loss_scale", value);
    found.facts.extra["good_steps"] = "3";
    optimizer::LossScale scale(config::PrecisionSettings{});
    EXPECT_THAT(base::message_of<base::DataError>([&] { restore_scale(found, &scale); }), HasSubstr("loss_scale"));
  }
  optimizer::GradientExponents exponents({"w"});
  for (const char* value : {"5000", "-5000", "0.5"})
    EXPECT_THAT(base::message_of<base::DataError>(
                    [&] { restore_exponents(with_fact("gradient_exponent.w", value), &exponents); }),
                HasSubstr("gradient_exponent.w"));
}

TEST(TrainState, TheBestLossIsTheLowestAndStaleUntilOneIsLowerByTheThreshold) {
  Best best;
  best.evaluated(10, 2.0, "samples", 0.1);
  EXPECT_EQ(best.step, 10);
  EXPECT_EQ(best.stale, 0);
  best.evaluated(20, 1.95, "samples", 0.1);  // lower, by less than the threshold
  EXPECT_EQ(best.step, 20);
  EXPECT_EQ(best.stale, 1);
  best.evaluated(30, std::nan(""), "samples", 0.1);
  EXPECT_EQ(best.step, 20);
  EXPECT_EQ(best.stale, 2);
  best.evaluated(40, 1.5, "samples", 0.1);
  EXPECT_EQ(best.step, 40);
  EXPECT_EQ(best.stale, 0);
}

TEST(PrivateFolder, IsOfThisUserAlone) {
  const base::TemporaryFolder folder;
  const std::string own = folder.path() + "/own", open = folder.path() + "/open", link = folder.path() + "/link";
  for (int rank = 0; rank < 2; ++rank) make_private_folder(own);
  struct stat facts {};
  ASSERT_EQ(::stat(own.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  ASSERT_EQ(::mkdir(open.c_str(), 0755), 0);
  ASSERT_EQ(::symlink(own.c_str(), link.c_str()), 0);
  for (const std::string& other : {open, link})
    EXPECT_THAT(base::message_of<base::ConfigError>([&] { make_private_folder(other); }), HasSubstr(other));
}

}  // namespace
}  // namespace troika::train
