// A layout that the run chooses itself, and runs that are refused for another one.
#include <gmock/gmock.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;

TEST(OpenLayout, IsChosenByTheRanksAndHasTheBitsOfOneProcess) {
  const Folder folder;
  const std::string corpus = write_corpus(folder);
  const End one = run(troika(small_run(corpus, folder / "one") + Words{"--steps", "4"}));
  ASSERT_EQ(one.code, 0) << one.output;
  const Words open{"--steps", "4", "--layout", "auto", "--tp", "1", "--cp", "1"};
  const End chosen = run(launch(2, small_run(corpus, folder / "chosen") + open));
  ASSERT_EQ(chosen.code, 0) << chosen.output;
  EXPECT_THAT(chosen.output,
              AllOf(HasSubstr("positions/s predicted, the fastest of "), HasSubstr("predicted "),
                    HasSubstr("measured  ")));
  expect_rows(read_rows(folder / "chosen"), read_rows(folder / "one"), "the chosen layout");
  EXPECT_THAT(base::read_file(folder / "chosen/config.yaml"), HasSubstr("layout: stated"));
}

TEST(OpenLayout, KeepsWhatIsStated) {
  const Folder folder;
  const Words words =
      small_run(write_corpus(folder), folder / "run") + Words{"--steps", "2", "--layout", "auto", "--pp", "2"};
  const End end = run(launch(2, words));
  ASSERT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(base::read_file(folder / "run/config.yaml"), AllOf(HasSubstr("pp: 2"), HasSubstr("dp: 1")));
}

TEST(OpenLayout, IsRefusedBeforeARankStartsWhereNothingFits) {
  const Folder folder;
  const Words large{"--model.hidden", "65536", "--model.ffn", "262144", "--model.heads", "512", "--model.layers", "64"};
  const Words words = small_run(write_corpus(folder), folder / "run") + large;
  const End open = run(launch(2, words + Words{"--layout", "auto"}));
  EXPECT_EQ(open.code, 2) << open.output;
  EXPECT_THAT(open.output, AllOf(HasSubstr("no layout fits"), testing::Not(HasSubstr("rank 0"))));
}

TEST(OpenLayout, AMisspelledOneIsNamed) {
  const End end = run(troika({"train", "--layout", "fast"}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.output, HasSubstr("stated or auto, not 'fast'"));
}

}  // namespace
}  // namespace troika::commands
