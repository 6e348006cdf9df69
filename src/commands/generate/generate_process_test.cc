// Text from checkpoints, and the verbs that read what runs leave behind.
#include <gmock/gmock.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Generate : public testing::Test {
 protected:
  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--log.progress", "none", "--steps", "8", "--lr", "3e-3"} + more;
  }

  static std::string text(const Words& more) {
    const End end = run(troika(Words{"generate"} + more + Words{"--prompt", "the ", "--tokens", "40"}));
    EXPECT_EQ(end.code, 0) << end.output;
    EXPECT_THAT(end.output, StartsWith("the "));
    return end.output;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(Generate, GivesOneTextForCheckpointsOfAllLayouts) {
  ASSERT_EQ(run(troika(train("alone", {}))).code, 0);
  ASSERT_EQ(run(launch(3, train("pp3", {"--pp", "3"}))).code, 0);
  ASSERT_EQ(run(launch(2, train("dp2", {"--dp", "2"}))).code, 0);
  const std::string greedy = text({folder_ / "alone", "--temperature", "0"});
  EXPECT_EQ(text({folder_ / "pp3", "--temperature", "0"}), greedy);
  EXPECT_EQ(text({folder_ / "dp2/checkpoints/step-00000008", "--temperature", "0"}), greedy);
  const std::string seven = text({folder_ / "alone", "--seed", "7"});
  EXPECT_EQ(text({folder_ / "pp3", "--seed", "7"}), seven);
  EXPECT_NE(text({folder_ / "alone", "--seed", "8"}), seven);
  EXPECT_NE(seven, greedy);
}

TEST_F(Generate, ErrorsNameWhatIsMissing) {
  const End nowhere = run(troika({"generate", folder_ / "nowhere"}));
  EXPECT_EQ(nowhere.code, 3);
  EXPECT_THAT(nowhere.output, HasSubstr("nowhere"));
  base::make_directories(folder_ / "empty");
  const End empty = run(troika({"generate", folder_ / "empty"}));
  EXPECT_EQ(empty.code, 3);
  EXPECT_THAT(empty.output, HasSubstr("no complete checkpoint"));
  EXPECT_EQ(run(troika({"generate"})).code, 2);
  EXPECT_EQ(run(troika({"generate", folder_ / "empty", "--temperature", "hot"})).code, 2);
}

TEST_F(Generate, DataAndTimelineOfAnEmptyFolderAreErrorsThatNameIt) {
  base::make_directories(folder_ / "empty");
  const End timeline = run(troika({"timeline", folder_ / "empty"}));
  EXPECT_EQ(timeline.code, 2) << timeline.output;
  EXPECT_THAT(timeline.output,
              HasSubstr(folder_ / "empty/timeline holds no recorded step; record some with --profile"));
  const End prepare =
      run(troika({"data", "prepare", folder_ / "empty", "--tokenizer", "bytes", "--out", folder_ / "tokens"}));
  EXPECT_EQ(prepare.code, 3) << prepare.output;
  EXPECT_THAT(prepare.output, HasSubstr("the folder '" + (folder_ / "empty") + "' holds no text files"));
  const End inspect = run(troika({"data", "inspect", folder_ / "empty"}));
  EXPECT_EQ(inspect.code, 3) << inspect.output;
  EXPECT_THAT(inspect.output, HasSubstr(folder_ / "empty"));
}

TEST_F(Generate, ATimelineOfARunShowsEveryRank) {
  ASSERT_EQ(run(launch(3, train("run", {"--pp", "3", "--profile", "3"}))).code, 0);
  const End end = run(troika({"timeline", folder_ / "run"}));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("bubble"));
  const End none = run(troika({"timeline", folder_ / "run", "--step", "5"}));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("step 5 was not recorded; recorded: 3"));
}

}  // namespace
}  // namespace troika::commands
