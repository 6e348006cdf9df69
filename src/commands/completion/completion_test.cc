#include "commands/completion/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troika::commands {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> offered(const Words& words) {
  std::vector<std::string> found;
  for (const Candidate& candidate : candidates_for(words, base::Language::english).words) found.push_back(candidate.word);
  return found;
}

Paths paths(const Words& words) { return candidates_for(words, base::Language::english).paths; }

TEST(Completion, OffersVerbsAndTheirParts) {
  EXPECT_THAT(offered({"t"}), ElementsAre("train", "timeline"));
  EXPECT_THAT(offered({""}), IsSupersetOf({"demo", "train"}));
  EXPECT_THAT(offered({"--"}), ElementsAre("--help", "--lang", "--version"));
  EXPECT_THAT(offered({"data", ""}), IsSupersetOf({"prepare", "decode"}));
  EXPECT_THAT(offered({"bench", "k"}), ElementsAre("kernels"));
  EXPECT_THAT(offered({"help", "ge"}), ElementsAre("generate"));
  EXPECT_THAT(offered({"trian", "--"}), IsEmpty());
}

TEST(Completion, OffersTheLanguageWithEveryVerbAndReadsPastIt) {
  EXPECT_THAT(offered({"why", "--la"}), ElementsAre("--lang"));
  EXPECT_THAT(offered({"--lang", ""}), ElementsAre("en", "zh", "auto"));
  EXPECT_THAT(offered({"plan", "--lang=z"}), ElementsAre("--lang=zh"));
  EXPECT_THAT(offered({"--lang", "zh", "bench", "k"}), ElementsAre("kernels"));
  EXPECT_EQ(candidates_for({"tim"}, base::Language::english).words.front().help,
            "merge, summarize and print what every rank did in a step");
}

TEST(Completion, OffersFlagsOfTheVerbAndTheSettingsItTakes) {
  EXPECT_THAT(offered({"train", "--schedule"}), ElementsAre("--schedule", "--schedule-file"));
  EXPECT_THAT(offered({"generate", "run", "--top"}), ElementsAre("--top-k", "--top-p"));
  EXPECT_THAT(offered({"eval", "--lo"}), IsSupersetOf({"--logits", "--log.level", "--lora.rank"}));
  EXPECT_THAT(offered({"data", "prepare", "--wor"}), ElementsAre("--workers"));
  EXPECT_THAT(offered({"train", "--he"}), ElementsAre("--help"));
}

TEST(Completion, OffersFamiliarSpellingsWhereNoFlagOfOursBeginsSo) {
  EXPECT_THAT(offered({"train", "--learn"}), ElementsAre("--learning-rate"));
  EXPECT_THAT(offered({"train", "--max-steps"}), ElementsAre("--max-steps"));
  EXPECT_THAT(offered({"train", "--steps"}), ElementsAre("--steps"));
  EXPECT_THAT(offered({"chat", "--max_new"}), ElementsAre("--max_new_tokens"));
}

TEST(Completion, OffersTheWordsOfValues) {
  EXPECT_THAT(offered({"train", "--schedule", ""}), ElementsAre("gpipe", "1f1b", "interleaved", "zb-h1"));
  EXPECT_THAT(offered({"train", "--pipeline_schedule", "g"}), ElementsAre("gpipe"));
  EXPECT_THAT(offered({"train", "--parallel.recompute=s"}), ElementsAre("--parallel.recompute=selective"));
  EXPECT_THAT(offered({"train", "--schedule="}), testing::Contains("--schedule=1f1b"));
  EXPECT_THAT(offered({"train", "--model.preset", "qwen3-t"}), ElementsAre("qwen3-tiny"));
  EXPECT_THAT(offered({"train", "--overlap", "f"}), ElementsAre("false"));
  EXPECT_THAT(offered({"export", "--dtype", "b"}), ElementsAre("bf16"));
  EXPECT_THAT(offered({"completion", "z"}), ElementsAre("zsh"));
  EXPECT_THAT(offered({"train", "--print-config", "tr"}), ElementsAre("true"));
}

TEST(Completion, OffersWholeNumbersThatAreFew) {
  EXPECT_THAT(offered({"train", "--zero", ""}), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(offered({"train", "--parallel.zero=2"}), ElementsAre("--parallel.zero=2"));
  EXPECT_THAT(offered({"train", "--checkpoint.copies", ""}), ElementsAre("0", "1", "2"));
  EXPECT_THAT(offered({"train", "--eps", ""}), IsEmpty());
}

TEST(Completion, OffersNothingForNumbersAndTexts) {
  for (const Words& words : {Words{"train", "--steps", ""},
                             {"train", "--lr", ""},
                             {"train", "--steps="},
                             {"generate", "x", "--prompt", ""},
                             {"launch", "--master-addr", ""}}) {
    EXPECT_THAT(offered(words), IsEmpty()) << words[1];
    EXPECT_EQ(paths(words), Paths::none) << words[1];
  }
}

TEST(Completion, OffersPathsWhereAPathStands) {
  EXPECT_EQ(paths({"train", "--data.train", "te"}), Paths::files);
  EXPECT_EQ(paths({"train", "--data.train=te"}), Paths::files);
  EXPECT_EQ(paths({"train", "--out", ""}), Paths::folders);
  EXPECT_EQ(paths({"train", "te"}), Paths::settings_files);
  EXPECT_EQ(paths({"train", "a.yaml", ""}), Paths::none);
  EXPECT_EQ(paths({"train", "--config", ""}), Paths::settings_files);
  EXPECT_EQ(paths({"data", "prepare", "--out", "te"}), Paths::folders);
  EXPECT_EQ(paths({"data", "prepare", "a", "b", ""}), Paths::files);
  EXPECT_EQ(paths({"timeline", "--grid", "te"}), Paths::folders);
  EXPECT_EQ(paths({"export", "run", ""}), Paths::folders);
  EXPECT_EQ(paths({"export", "run", "to", ""}), Paths::none);
  EXPECT_EQ(paths({"launch", "--secret-file", ""}), Paths::files);
}

TEST(Completion, KnowsTheCommandOfTheRanksBehindLaunch) {
  EXPECT_THAT(offered({"launch", "--nproc"}), ElementsAre("--nproc-per-node"));
  EXPECT_THAT(offered({"launch", "--bind", ""}), ElementsAre("auto", "none"));
  EXPECT_THAT(offered({"launch", "--nnodes", "2", "--", ""}), ElementsAre("train", "eval", "bench", "probe", "doctor"));
  EXPECT_THAT(offered({"launch", "--nnodes", "2", "tr"}), ElementsAre("train"));
  EXPECT_THAT(offered({"launch", "--", "train", "--schedule", "z"}), ElementsAre("zb-h1"));
  EXPECT_THAT(offered({"launch", "--standalone", "train", "--schedule", "z"}), ElementsAre("zb-h1"));
  EXPECT_THAT(offered({"launch", "bench", "st"}), ElementsAre("step"));
  EXPECT_THAT(offered({"launch", "bench", "step", "--js"}), ElementsAre("--json"));
  EXPECT_EQ(paths({"launch", "--", "train", ""}), Paths::settings_files);
}

TEST(Completion, AnswersEachShellInItsForm) {
  const auto answer = [](const Words& words) { return completion_report(words, base::Language::english); };
  EXPECT_EQ(answer({"bash", "--", "train", "--schedule", "g"}), "gpipe\n:none\n");
  EXPECT_EQ(answer({"fish", "--", "ev"}),
            "eval\tthe loss of a model on data: troika eval RUN --data.valid FILE\n:none\n");
  EXPECT_EQ(answer({"zsh", "--", "ev"}),
            "eval:the loss of a model on data: troika eval RUN --data.valid FILE\n:none\n");
  EXPECT_EQ(answer({"bash", "--", "train", "--out", ""}), ":folders\n");
  EXPECT_EQ(answer({"bash", "--", "train", "--he"}), "--help\n:none\n");
  EXPECT_THAT(answer({"bash"}), HasSubstr("complete -F _troika troika"));
  EXPECT_THAT(answer({"zsh"}), HasSubstr("#compdef troika\n"));
  EXPECT_THAT(answer({"fish"}), HasSubstr("complete -c troika -f"));
  EXPECT_THAT(answer({"bash", "--", "doctor", "--"}), Not(HasSubstr("sudo-pass")));
}

}  // namespace
}  // namespace troika::commands
