// A run is whole: moved to another place, its first tokenizer and chat template gone, and used from another working folder, it
// still generates, chats, is evaluated, exported, begun from and resumed.
#include <gmock/gmock.h>

#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* brackets =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}";

class MovedRun : public testing::Test {
 protected:
  void SetUp() override {
    const End made = run(troika({"data", "tokenizer", corpus_, "--out", folder_ / "tokenizer", "--vocab", "280"}));
    ASSERT_EQ(made.code, 0) << made.output;
    base::write_file_atomic(folder_ / "tokenizer/generation_config.json", R"({"temperature": 0.5})");
    base::write_file_atomic(folder_ / "brackets.jinja", brackets);
  }

  // As a person does it: with names that hold in this folder alone.
  End inside(const Words& words, const std::string& folder) const {
    const Words shell{"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder};
    return run(shell + words);
  }
  Words training(const std::string& corpus, const std::string& tokenizer, const std::string& out) const {
    return small_run(corpus, out) + Words{"--data.tokenizer", tokenizer, "--data.chat-template", "brackets.jinja",
                                          "--model.vocab",    "320",     "--log.progress",       "none"};
  }
  void lose_everything_but_the_run() const {
    base::rename_path(folder_ / "run", folder_ / "elsewhere");
    base::remove_tree(folder_ / "tokenizer");
    base::remove_tree(folder_ / "brackets.jinja");
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
  const std::string run_ = folder_ / "elsewhere";
};

TEST_F(MovedRun, GeneratesChatsIsEvaluatedAndExportedFromAnyWorkingFolder) {
  const End trained = inside(troika(training(corpus_, "tokenizer", "run") + Words{"--steps", "4"}), folder_.path());
  ASSERT_EQ(trained.code, 0) << trained.output;
  const std::string tokenizer = base::read_file(folder_ / "tokenizer/tokenizer.json");
  lose_everything_but_the_run();
  for (const std::string& copies : {run_ + "/tokenizer", run_ + "/checkpoints/step-00000004/model"}) {
    EXPECT_EQ(base::read_file(copies + "/tokenizer.json"), tokenizer);
    EXPECT_TRUE(base::file_exists(copies + "/tokenizer_config.json"));
    EXPECT_EQ(base::read_file(copies + "/chat_template.jinja"), brackets);
    EXPECT_EQ(base::read_file(copies + "/generation_config.json"), R"({"temperature": 0.5})");
  }

  const End generated = inside(troika({"generate", run_, "--prompt", "the", "--tokens", "5"}), "/");
  EXPECT_EQ(generated.code, 0) << generated.output;
  EXPECT_THAT(generated.output, HasSubstr("temperature 0.5"));
  const std::string question = folder_ / "question";
  base::write_file_atomic(question, "hello\n");
  Program chat({"/bin/sh", "-c", "cd / && exec \"$@\"", "sh", troika({})[0], "chat", run_, "--max-new-tokens", "5"}, {},
               question);
  const End answered = chat.wait();
  EXPECT_EQ(answered.code, 0) << answered.output;
  for (const std::string& path : {run_, run_ + "/checkpoints/step-00000004/model"}) {
    const End evaluated = inside(troika({"eval", path, "--data.valid", corpus_, "--seq-len", "16"}), "/");
    EXPECT_EQ(evaluated.code, 0) << evaluated.output;
  }
  const End exported = inside(troika({"export", run_, folder_ / "exported"}), "/");
  EXPECT_EQ(exported.code, 0) << exported.output;
  EXPECT_EQ(base::read_file(folder_ / "exported/tokenizer.json"), tokenizer);
  EXPECT_EQ(base::read_file(folder_ / "exported/chat_template.jinja"), brackets);
}

TEST_F(MovedRun, ResumesWithItsOwnTokenizerAndTheBitsOfARunThatStayed) {
  const Words constant{"--optimizer.lr-schedule", "constant"};
  const auto trained = [&](const std::string& out, const char* steps) {
    return inside(troika(training(corpus_, "tokenizer", out) + constant + Words{"--steps", steps}), folder_.path());
  };
  ASSERT_EQ(trained("whole", "8").code, 0);
  ASSERT_EQ(trained("run", "4").code, 0);
  lose_everything_but_the_run();
  const std::string corpus = folder_ / "corpus-elsewhere.txt", other = folder_ / "other";
  base::rename_path(corpus_, corpus);
  const std::string step_4 = folder_ / "elsewhere/checkpoints/step-00000004";
  const Words resume = training(corpus, "tokenizer", other) + constant + Words{"--resume", step_4, "--steps", "5"};
  const End elsewhere = inside(launch(2, resume + Words{"--dp", "2"}), "/");
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.output;
  const End resumed = inside(troika(training(corpus, "tokenizer", run_) + constant + Words{"--steps", "8"}), "/");
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, AllOf(HasSubstr("resumed from step 4"), Not(HasSubstr("the data differ"))));
  expect_rows(read_rows(run_), read_rows(folder_ / "whole"), "moved after step 4");
  const std::string newest = run_ + "/checkpoints/step-00000008/model/";
  for (const char* name : {"tokenizer.json", "chat_template.jinja", "generation_config.json"}) {
    EXPECT_EQ(base::read_file(newest + name), base::read_file(step_4 + "/model/" + name)) << name;
    EXPECT_EQ(base::read_file(other + "/checkpoints/step-00000005/model/" + name), base::read_file(newest + name));
  }
}

TEST_F(MovedRun, IsAModelToBeginFromUnlessItsTokenizerIsDamaged) {
  ASSERT_EQ(inside(troika(training(corpus_, "tokenizer", "run") + Words{"--steps", "1"}), folder_.path()).code, 0);
  lose_everything_but_the_run();
  const Words from{
      "train", "--model.path",        run_, "--data.train", corpus_, "--seq-len",      "16",   "--micro-batch-size",
      "1",     "--global-batch-size", "4",  "--steps",      "1",     "--log.progress", "none", "--out"};
  const End begun = inside(troika(from + Words{folder_ / "begun"}), "/");
  EXPECT_EQ(begun.code, 0) << begun.output;
  const std::string copy = run_ + "/checkpoints/step-00000001/model/tokenizer.json";
  EXPECT_EQ(base::read_file(folder_ / "begun/tokenizer/tokenizer.json"), base::read_file(copy));
  base::write_file_atomic(copy, base::read_file(copy) + " ");
  const End refused = inside(troika(from + Words{folder_ / "refused"}), "/");
  EXPECT_EQ(refused.code, 3) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr(copy), HasSubstr("its hash differs from the manifest")));
}

TEST_F(MovedRun, SaysSoWhereTheStatedTokenizerIsAnother) {
  const auto trained = [&](const char* steps) {
    return inside(troika(training(corpus_, "tokenizer", "run") + Words{"--steps", steps}), folder_.path());
  };
  ASSERT_EQ(trained("1").code, 0);
  base::remove_tree(folder_ / "tokenizer");
  const End made = run(troika({"data", "tokenizer", corpus_, "--out", folder_ / "tokenizer", "--vocab", "270"}));
  ASSERT_EQ(made.code, 0) << made.output;
  const End resumed = trained("2");
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, AllOf(HasSubstr("the run resumes with its own tokenizer in 'run/checkpoints"),
                                    Not(HasSubstr("the data differ"))));
}

}  // namespace
}  // namespace troika::commands
