// Text from checkpoints, and the verbs that read what runs leave behind.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
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
  ASSERT_EQ(run(launch(2, train("tp2", {"--tp", "2"}))).code, 0);
  const std::string greedy = text({folder_ / "alone", "--temperature", "0"});
  EXPECT_EQ(text({folder_ / "pp3", "--temperature", "0"}), greedy);
  EXPECT_EQ(text({folder_ / "dp2/checkpoints/step-00000008", "--temperature", "0"}), greedy);
  EXPECT_EQ(text({"--model.path", folder_ / "tp2", "--temperature", "0"}), greedy);
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

TEST_F(Generate, AFileOfPromptsBecomesAFileOfTheTextsThatTheyHaveAlone) {
  ASSERT_EQ(run(troika(train("run", {}))).code, 0);
  const std::vector<std::string> prompts{"the ", "a longer prompt than the others", "x", "the ", "one more"};
  std::string lines;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    lines += nlohmann::json{{i % 2 == 0 ? "prompt" : "text", prompts[i]}, {"number", i}}.dump() + "\n\n";
  base::write_file_atomic(folder_ / "in.jsonl", lines);
  std::vector<std::string> alone;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const End end = run(troika({"generate", folder_ / "run", "--prompt", prompts[i], "--seed", std::to_string(7 + i),
                                "--tokens", "20", "--json", "--stop-id", "32"}));
    ASSERT_EQ(end.code, 0) << end.output;
    alone.push_back(end.output);
  }
  const End timed = run(troika({"generate", folder_ / "run", "--prompt", "the ", "--tokens", "5", "--json", "--stats"}));
  const auto told = nlohmann::json::parse(timed.output);  // and no sentence
  EXPECT_EQ(told["prompt_tokens"], 4);
  EXPECT_GT(told["prompt_seconds"], 0);
  EXPECT_GT(told["tokens_per_second"], 0);
  for (const char* together : {"1", "3"}) {
    const End end =
        run(troika({"generate", folder_ / "run", "--input", folder_ / "in.jsonl", "--output", folder_ / "out.jsonl",
                    "--seed", "7", "--tokens", "20", "--batch", together, "--stop-id", "32"}));
    ASSERT_EQ(end.code, 0) << end.output;
    EXPECT_THAT(end.output, HasSubstr("5/5 texts"));
    const auto out = base::split(base::trim(base::read_file(folder_ / "out.jsonl")), '\n');
    ASSERT_EQ(out.size(), prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto got = nlohmann::json::parse(out[i]), want = nlohmann::json::parse(alone[i]);
      EXPECT_EQ(got["number"], i);
      for (const char* key : {"completion", "tokens", "finish"}) EXPECT_EQ(got[key], want[key]) << key << " " << i;
      EXPECT_EQ(got["tokens"] == 20, got["finish"] == "length");
    }
  }
}

TEST_F(Generate, AModelFolderBringsWhatItsPublisherRecommends) {
  ASSERT_EQ(run(troika(train("run", {}))).code, 0);
  const std::string model = folder_ / "run/checkpoints/step-00000008/model";
  const End none = run(troika({"generate", model, "--prompt", "the "}));
  EXPECT_EQ(none.code, 2) << none.output;
  EXPECT_THAT(none.output,
              HasSubstr("has no tokenizer.json; give the folder of the model's tokenizer with --tokenizer DIR"));
  const Words bytes{model, "--tokenizer", "bytes"};
  const std::string greedy = text({folder_ / "run", "--temperature", "0"});
  EXPECT_EQ(text(bytes + Words{"--temperature", "0"}), greedy);
  base::write_file_atomic(model + "/generation_config.json",
                          R"({"do_sample": false, "eos_token_id": [)" + std::to_string(greedy[12]) + "]}");
  const End end = run(troika(Words{"generate"} + bytes + Words{"--prompt", "the ", "--tokens", "40"}));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("always the most likely token, stop ids " + std::to_string(greedy[12])));
  EXPECT_THAT(end.output, HasSubstr(greedy.substr(0, greedy.find(greedy[12], 4)) + "\n"));
  const End warm = run(troika(Words{"generate"} + bytes + Words{"--prompt", "the ", "--top-k", "3"}));
  EXPECT_THAT(warm.output, HasSubstr("temperature 1, top-k 3, stop ids"));
}

TEST_F(Generate, StopsAtATextAndAtTheLastPosition) {
  ASSERT_EQ(run(troika(train("run", {"--model.max-positions", "64"}))).code, 0);
  const std::string free = text({folder_ / "run", "--temperature", "0"});
  const std::string stop = free.substr(10, 2);
  const std::string cut = text({folder_ / "run", "--temperature", "0", "--stop", "~~", "--stop", stop});
  EXPECT_EQ(cut, free.substr(0, free.find(stop, 4)) + "\n");
  const End limit =
      run(troika({"generate", folder_ / "run", "--prompt", "the ", "--tokens", "100", "--temperature", "0"}));
  EXPECT_EQ(limit.code, 0) << limit.output;
  EXPECT_THAT(limit.output, HasSubstr("note: the text ended at position 64, the model's last"));
  const End refused = run(troika({"generate", folder_ / "run", "--prompt", std::string(64, 'x')}));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output,
              HasSubstr("the prompt has 64 tokens, but the model has 64 positions; shorten it to 63 at most"));
}

TEST_F(Generate, DataAndTimelineOfAnEmptyFolderAreErrorsThatNameIt) {
  base::make_directories(folder_ / "empty");
  const End timeline = run(troika({"timeline", folder_ / "empty"}));
  EXPECT_EQ(timeline.code, 2) << timeline.output;
  EXPECT_THAT(timeline.output,
              HasSubstr(folder_ / "empty/timeline has no recorded steps; record some with --profile"));
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
