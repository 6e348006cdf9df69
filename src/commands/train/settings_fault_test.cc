// Settings and data that are wrong: one clear sentence, the right exit code, soon, and nothing is left or lost.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BadInput : public testing::Test {
 protected:
  Words train(const Words& more) const { return small_run(corpus_, out_) + Words{"--log.progress", "none"} + more; }

  // Alone and as a launched pipeline. `sentence` must be said once.
  void expect_error(const Words& more, int code, const std::string& sentence) const {
    for (const Words& words : {troika(train(more)), launch(3, train(Words{"--pp", "3"} + more))}) {
      const double begin = base::monotonic_seconds();
      const End end = run(words);
      EXPECT_EQ(end.code, code) << end.output;
      EXPECT_LT(end.when - begin, 10);
      EXPECT_EQ(count(end.output, sentence), 1) << end.output;
      EXPECT_THAT(end.output, HasSubstr("troika"));
      EXPECT_TRUE(checkpoints(out_).empty());
      EXPECT_TRUE(read_rows(out_).empty());
    }
  }

  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  std::string file(const std::string& name, const std::string& content) const {
    base::write_file_atomic(folder_ / name, content);
    return folder_ / name;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
  const std::string out_ = folder_ / "run";
};

TEST_F(BadInput, AnUnknownKeyIsNamedWithTheNearestOne) {
  expect_error({"--optimizer.lrr", "3"}, 2, "did you mean --optimizer.lr?");
  expect_error({"--bogus", "3"}, 2, "unknown flag --bogus");
}

TEST_F(BadInput, AModelsFolderIsNotTheRunsFolder) {
  base::make_directories(out_);
  base::write_file_atomic(out_ + "/config.json", "{}");
  expect_error({}, 2, "contains config.json, which belongs to a model");
  EXPECT_EQ(base::list_directory(out_).size(), 1u) << "nothing is written before";
}

TEST_F(BadInput, ABatchThatDoesNotDivideIsToldWithTheNearestThatDo) {
  expect_error({"--global-batch-size", "13", "--gradient-accumulation-steps", "2"}, 2,
               "13 is not a multiple of accumulation 2: 12 and 14 are the nearest multiples");
}

TEST_F(BadInput, MoreStagesThanLayersIsToldWithTheLimit) {
  const End end = run(launch(3, train({"--pp", "3", "--model.layers", "2"})));
  EXPECT_EQ(end.code, 2);
  EXPECT_EQ(count(end.output, "parallel.pp 3 is more than the model's 2 transformer layers"), 1) << end.output;
}

TEST_F(BadInput, AWorldThatIsNoProductOfTheAxesIsToldOnce) {
  const End end = run(launch(3, train({"--pp", "2"})));
  EXPECT_EQ(end.code, 2);
  EXPECT_EQ(count(end.output, "\n"), 1) << end.output;
}

TEST_F(BadInput, AMissingDataFileIsNamed) {
  expect_error({"--data.train", folder_ / "nowhere.txt"}, 3, "nowhere.txt' does not exist");
}

TEST_F(BadInput, AnEmptyDataFileIsNamed) {
  expect_error({"--data.train", file("empty.txt", "")}, 3, "empty.txt' is empty");
}

TEST_F(BadInput, NoDataAtAllIsToldWithTheFlag) { expect_error({"--data.train", ""}, 2, "--data.train PATH"); }

TEST_F(BadInput, AMissingTokenizerIsNamed) {
  expect_error({"--data.tokenizer", folder_ / "tokenizer"}, 3, "tokenizer' does not exist");
}

TEST_F(BadInput, ATruncatedTokenShardIsNamed) {
  const std::string tokens = folder_ / "tokens";
  ASSERT_EQ(run(troika({"data", "prepare", corpus_, "--tokenizer", "bytes", "--out", tokens})).code, 0);
  const std::string shard = tokens + "/tokens-00000.bin";
  base::write_file_atomic(shard, base::read_file(shard).substr(0, 1000));
  expect_error({"--data.train", tokens}, 3, "tokens-00000.bin");
}

TEST_F(BadInput, AVocabularySmallerThanTheTokenizersIsToldWithTheLimit) {
  expect_error({"--model.vocab", "10"}, 2, "model.vocab is 10, but the tokenizer has 259 ids");
}

TEST_F(BadInput, ErrorsOfASettingsFileAreToldTogetherWithTheirPlace) {
  const std::string yaml = file("bad.yaml", "model:\n  layerz: 4\nbatch:\n  seq_len: long\n");
  for (const Words& words : {troika({"train", yaml}), launch(2, {"train", yaml})}) {
    const End end = run(words);
    EXPECT_EQ(end.code, 2);
    EXPECT_THAT(end.output, AllOf(HasSubstr("bad.yaml"), HasSubstr("layerz"), HasSubstr("layers"), HasSubstr("seq_len"),
                                  HasSubstr("long")));
  }
  const std::string broken = file("broken.yaml", "model: [4\n");
  const End end = run(troika({"train", broken}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.output, HasSubstr("broken.yaml"));
  const End missing = run(troika({"train", folder_ / "no.yaml"}));
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.output, HasSubstr("no.yaml"));
}

TEST_F(BadInput, AnEmptySettingsFileIsNamed) {
  const End end = run(troika({"train", file("empty.yaml", "")}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.output, HasSubstr("empty.yaml is empty"));
}

TEST_F(BadInput, AFolderThatCannotBeWrittenIsNamed) {
  const std::string taken = file("taken", "a file where the run's folder should be");
  const End end = run(troika(train({"--out", taken})));
  EXPECT_EQ(end.code, 3) << end.output;
  EXPECT_THAT(end.output, HasSubstr(taken));
}

TEST_F(BadInput, AVerbThatDoesNotExistIsToldWithTheNearest) {
  const End end = run(troika({"trian"}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.output, HasSubstr("did you mean 'train'?"));
  EXPECT_EQ(run(troika({})).code, 2);
}

}  // namespace
}  // namespace troika::commands
