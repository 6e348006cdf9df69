#include "commands/completion/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// What bash offers for the last word, in a folder with a file and a folder.
class BashCompletion : public testing::Test {
 protected:
  BashCompletion() {
    base::write_file_atomic(folder_.path() + "/script", completion_script(Shell::bash));
    base::write_file_atomic(folder_.path() + "/text.jsonl", "");
    base::make_directories(folder_.path() + "/texts");
  }

  std::vector<std::string> offered(const std::vector<std::string>& words) {
    std::string line = "cd '" + folder_.path() + "' && . ./script && COMP_WORDS=(troika";
    for (const std::string& word : words) line += " '" + word + "'";
    line += "); COMP_CWORD=" + std::to_string(words.size()) + "; _troika; printf '%s\\n' \"${COMPREPLY[@]}\"";
    base::write_file_atomic(folder_.path() + "/run", line);
    std::FILE* pipe = ::popen(("bash '" + folder_.path() + "/run' 2>&1").c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(pipe), 0) << text;
    return base::split(base::trim(text), '\n');
  }

  const base::TemporaryFolder folder_;
};

TEST_F(BashCompletion, OffersVerbsAndTheirParts) {
  EXPECT_THAT(offered({"t"}), ElementsAre("train", "timeline"));
  EXPECT_THAT(offered({"data", ""}), IsSupersetOf({"prepare", "decode"}));
  EXPECT_THAT(offered({"bench", "k"}), ElementsAre("kernels"));
  EXPECT_THAT(offered({"help", "ge"}), ElementsAre("generate"));
}

TEST_F(BashCompletion, OffersFlagsOfTheVerbAndTheSettingsItTakes) {
  EXPECT_THAT(offered({"train", "--schedule"}), ElementsAre("--schedule", "--schedule-file"));
  EXPECT_THAT(offered({"generate", "run", "--top"}), ElementsAre("--top-k", "--top-p"));
  EXPECT_THAT(offered({"eval", "--lo"}), IsSupersetOf({"--logits", "--log.level", "--lora.rank"}));
  EXPECT_THAT(offered({"data", "prepare", "--wor"}), ElementsAre("--workers"));
  EXPECT_THAT(offered({"chat", "--max_new"}), ElementsAre("--max-new-tokens"));
}

TEST_F(BashCompletion, OffersTheWordsOfValues) {
  EXPECT_THAT(offered({"train", "--schedule", ""}), ElementsAre("gpipe", "1f1b", "interleaved", "zb-h1"));
  EXPECT_THAT(offered({"train", "--pipeline_schedule", "g"}), ElementsAre("gpipe"));
  EXPECT_THAT(offered({"train", "--parallel.recompute", "=", "s"}), ElementsAre("selective"));
  EXPECT_THAT(offered({"train", "--parallel.recompute", "="}), ElementsAre("none", "full", "selective"));
  EXPECT_THAT(offered({"train", "--model.preset", "qwen3-t"}), ElementsAre("qwen3-tiny"));
  EXPECT_THAT(offered({"train", "--overlap", "f"}), ElementsAre("false"));
  EXPECT_THAT(offered({"export", "--dtype", "b"}), ElementsAre("bf16"));
  EXPECT_THAT(offered({"completion", "z"}), ElementsAre("zsh"));
  EXPECT_THAT(offered({"train", "--steps", ""}), IsEmpty());
}

TEST_F(BashCompletion, OffersFilesElsewhere) {
  EXPECT_THAT(offered({"train", "--data.train", "te"}), IsSupersetOf({"text.jsonl", "texts"}));
  EXPECT_THAT(offered({"train", "te"}), Contains("text.jsonl"));
  EXPECT_THAT(offered({"data", "prepare", "--out", "te"}), ElementsAre("texts"));
  EXPECT_THAT(offered({"timeline", "--grid", "te"}), Contains("texts"));
}

TEST_F(BashCompletion, KnowsTheVerbBehindLaunch) {
  EXPECT_THAT(offered({"launch", "--nproc"}), ElementsAre("--nproc-per-node"));
  EXPECT_THAT(offered({"launch", "--bind", ""}), ElementsAre("auto", "none"));
  EXPECT_THAT(offered({"launch", "--nnodes", "2", "--", ""}), ElementsAre("train", "eval", "bench", "probe"));
  EXPECT_THAT(offered({"launch", "--", "train", "--schedule", "z"}), ElementsAre("zb-h1"));
  EXPECT_THAT(offered({"launch", "bench", "st"}), ElementsAre("step"));
  EXPECT_THAT(offered({"launch", "bench", "step", "--js"}), ElementsAre("--json"));
}

TEST(CompletionScripts, OfOtherShellsNameVerbsFlagsAndWords) {
  const std::string fish = completion_script(Shell::fish), zsh = completion_script(Shell::zsh);
  EXPECT_THAT(fish, HasSubstr("complete -c troika -n '__fish_seen_subcommand_from train' -l schedule -d '"));
  EXPECT_THAT(fish, HasSubstr("' -x -a 'gpipe 1f1b interleaved zb-h1'\n"));
  EXPECT_THAT(fish,
              HasSubstr("'__fish_seen_subcommand_from data; and __fish_seen_subcommand_from prepare' -l workers"));
  EXPECT_THAT(zsh, AllOf(HasSubstr("#compdef troika\n"), HasSubstr("_troika_data-prepare() {"),
                         HasSubstr("'*--schedule=["), HasSubstr("]:value:(gpipe 1f1b interleaved zb-h1)'")));
  EXPECT_THAT(zsh + fish, Not(HasSubstr("sudo-pass")));
}

}  // namespace
}  // namespace troika::commands
