// The verb eval as a user starts it: alone and on several ranks, as text and as JSON, and what it leaves behind.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// Three, the second longer than 16 ids, the third with labels: 5 + 15 + 3 targets.
void write_samples(const std::string& path) {
  base::write_file_atomic(
      path,
      "{\"input_ids\": [116, 104, 101, 32, 109, 111]}\n"
      "{\"input_ids\": [97, 32, 108, 97, 121, 111, 117, 116, 32, 110, 101, 118, 101, 114, 32, 99, 104, 97]}\n"
      "{\"input_ids\": [108, 111, 115, 115, 10], \"labels\": [-100, -100, 115, 115, 10]}\n");
}

class Eval : public testing::Test {
 protected:
  void SetUp() override {
    write_samples(valid_);
    const End end =
        run(launch(2, small_run(corpus_, out_) + Words{"--pp", "2", "--steps", "3", "--log.progress", "none",
                                                       "--data.valid", valid_, "--train.eval-every", "2"}));
    ASSERT_EQ(end.code, 0) << end.output;
    EXPECT_THAT(end.output, AllOf(HasSubstr("step 2: valid loss "), HasSubstr("step 3: valid loss "),
                                  HasSubstr("valid loss    "), HasSubstr("lowest ")));
    const Rows rows = read_rows(out_);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].extra.count("valid_loss"), 0u);
    EXPECT_EQ(rows[1].extra.at("valid_tokens"), 5 + 15 + 3);
    trained_ = rows[2].extra.at("valid_loss");
  }

  Words eval(const Words& more) const {
    return Words{"eval", out_, "--data.valid", valid_, "--seq-len", "16", "--micro-batch-size", "1"} + more;
  }

  json evaluated(const Words& words) const {
    const End end = run(words);
    EXPECT_EQ(end.code, 0) << end.output;
    return json::parse(end.output, nullptr, false);
  }

  std::vector<std::string> left_behind() const { return base::list_directory(folder_.path()); }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_), out_ = folder_ / "run", valid_ = folder_ / "valid.jsonl";
  double trained_ = 0;
};

TEST_F(Eval, GivesTheTrainersBitsAloneAndOnSeveralRanksAsOneJsonObject) {
  const auto before = left_behind();
  const auto of_run = base::list_directory(out_);
  for (const Words& words : {troika(eval({"--json"})), launch(2, eval({"--pp", "2", "--json"})),
                             launch(2, eval({"--dp", "2", "--zero", "3", "--json"})),
                             troika({"eval", "--model.path", out_ + "/checkpoints/step-00000003", "--data.valid",
                                     valid_, "--seq-len=16", "--json", "--micro-batch-size", "1"})}) {
    const json got = evaluated(words);
    ASSERT_TRUE(got.is_object());
    EXPECT_EQ(got.at("loss").get<double>(), trained_);
    EXPECT_EQ(got.at("perplexity").get<double>(), std::exp(trained_));
    EXPECT_EQ(got.at("tokens"), 5 + 15 + 3);
    EXPECT_EQ(got.at("samples"), 3);
    EXPECT_EQ(got.at("truncated"), 1);
    EXPECT_GT(got.at("seconds").get<double>(), 0);
  }
  EXPECT_NEAR(evaluated(launch(2, eval({"--tp", "2", "--json"}))).at("loss").get<double>(), trained_, 1e-6 * trained_);
  EXPECT_EQ(left_behind(), before);
  EXPECT_EQ(base::list_directory(out_), of_run);
}

TEST_F(Eval, SaysItInALineAndReadsTextWithTheModelsTokenizerWithoutLeavingAnything) {
  const Folder temporary;
  const End end =
      run(troika({"eval", out_, "--data.valid", corpus_, "--seq-len", "64"}), {{"TMPDIR", temporary.path()}});
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, AllOf(HasSubstr("loss "), HasSubstr("perplexity "), HasSubstr(" tokens of "),
                                HasSubstr("evaluated once")));
  EXPECT_TRUE(base::list_directory(temporary.path()).empty());
  const std::string kept = folder_ / "kept";
  EXPECT_EQ(run(troika({"eval", out_, "--data.valid", corpus_, "--data.cache", kept})).code, 0);
  EXPECT_FALSE(base::list_directory(kept).empty());
}

TEST_F(Eval, GivesEachOfSeveralSourcesItsLossBesideThatOfAll) {
  const std::string other = folder_ / "other.jsonl";
  base::write_file_atomic(other, "{\"input_ids\": [116, 104, 101, 32]}\n");
  const json got = evaluated(troika({"eval", out_, "--data.valid", valid_ + "," + other, "--seq-len", "16",
                                     "--micro-batch-size", "2", "--json"}));
  const json& sources = got.at("sources");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].at("name"), "valid.jsonl");
  EXPECT_EQ(sources[0].at("tokens"), 5 + 15 + 3);
  EXPECT_NEAR(sources[0].at("loss").get<double>(), trained_, 1e-6 * trained_);
  EXPECT_EQ(sources[1].at("samples"), 1);
  EXPECT_EQ(got.at("tokens"), 5 + 15 + 3 + 3);
}

std::vector<float> logits_of(const std::string& path) {
  const checkpoint::SafetensorsFile file(path);
  const auto& entry = file.header().entries.at(0);
  EXPECT_EQ(entry.name, "logits");
  EXPECT_EQ(entry.shape, (std::vector<std::int64_t>{3, 16, 259}));
  std::vector<float> values(static_cast<std::size_t>(entry.bytes / 4));
  std::memcpy(values.data(), file.at(entry.begin), values.size() * 4);
  return values;
}

// The loss of the file's samples from logits, without the program.
double loss_from(const std::vector<float>& logits, const std::string& valid) {
  double sum = 0;
  int count = 0;
  std::size_t sample = 0;
  for (const std::string& line : base::split(base::trim(base::read_file(valid)), '\n')) {
    const json object = json::parse(line);
    const json& labels = object.contains("labels") ? object["labels"] : object["input_ids"];
    for (std::size_t t = 0; t + 1 < std::min<std::size_t>(labels.size(), 16); ++t) {
      const int target = labels[t + 1].get<int>();
      if (target < 0) continue;
      const float* row = logits.data() + (sample * 16 + t) * 259;
      double exponentials = 0;
      for (int v = 0; v < 259; ++v) exponentials += std::exp(static_cast<double>(row[v]));
      sum += std::log(exponentials) - static_cast<double>(row[target]);
      ++count;
    }
    ++sample;
  }
  return sum / count;
}

// The weights that the stages of a pipeline have saved are whole tensors, so their folder is a model folder.
TEST_F(Eval, OfAModelFolderIsThatOfItsCheckpoint) {
  const std::string model = out_ + "/checkpoints/step-00000003/model";
  const Words words{
      "eval", model,    "--data.valid",     valid_, "--seq-len", "16", "--micro-batch-size", "1", "--zero", "3", "--dp",
      "2",    "--json", "--data.tokenizer", "bytes"};
  EXPECT_EQ(evaluated(launch(2, words)).at("loss").get<double>(), trained_);
}

// A learning rate that spoils the model: the best is an early step, and stays when another layout continues.
TEST(BestCheckpoint, StaysBesidesTheNewest) {
  const Folder folder;
  const std::string corpus = write_corpus(folder), out = folder / "run", valid = folder / "valid.jsonl";
  write_samples(valid);
  const auto train = [&](const std::string& steps, const std::string& rate) {
    return small_run(corpus, out) + Words{"--steps",
                                          steps,
                                          "--lr",
                                          rate,
                                          "--optimizer.min-lr",
                                          rate,
                                          "--data.valid",
                                          valid,
                                          "--train.eval-every",
                                          "1",
                                          "--checkpoint.keep",
                                          "1",
                                          "--optimizer.warmup-steps",
                                          "0"};
  };
  const End first = run(launch(2, train("4", "1") + Words{"--pp", "2"}));
  ASSERT_EQ(first.code, 0) << first.output;
  const auto kept = checkpoints(out);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept.back(), "step-00000004");
  const End second = run(launch(2, train("5", "1e-9") + Words{"--dp", "2", "--zero", "3"}));
  ASSERT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("resumed from step 4"));
  EXPECT_EQ(checkpoints(out), (std::vector<std::string>{kept.front(), "step-00000005"}));
}

TEST_F(Eval, WritesTheLogitsOfEveryPositionInAnyLayout) {
  const std::string path = folder_ / "alone.safetensors";
  ASSERT_EQ(run(troika(eval({"--logits", path}))).code, 0);
  const auto alone = logits_of(path);
  EXPECT_NEAR(loss_from(alone, valid_), trained_, 1e-6 * trained_);
  int number = 0;
  for (const Words& layout : {Words{"--pp", "2"}, Words{"--tp", "2"}, Words{"--dp", "2", "--zero", "3"}}) {
    const std::string other = folder_ / (std::to_string(++number) + ".safetensors");
    const End end = run(launch(2, eval(Words{"--logits", other} + layout)));
    ASSERT_EQ(end.code, 0) << end.output;
    const auto logits = logits_of(other);
    for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(logits[i], alone[i], 1e-5) << layout[1] << ", " << i;
  }
  const End refused = run(launch(2, eval({"--logits", path, "--cp", "2"})));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, HasSubstr("--logits needs whole sequences on a rank"));
}

TEST_F(Eval, SaysWhatIsMissing) {
  const End no_model = run(troika({"eval", "--data.valid", valid_}));
  EXPECT_EQ(no_model.code, 2);
  EXPECT_THAT(no_model.output, HasSubstr("model.path is not set"));
  const End no_data = run(troika({"eval", out_}));
  EXPECT_EQ(no_data.code, 2);
  EXPECT_THAT(no_data.output, HasSubstr("data.valid is not set"));
  const End no_file = run(troika({"eval", out_, "--data.valid", folder_ / "absent.jsonl"}));
  EXPECT_EQ(no_file.code, 3);
  EXPECT_THAT(no_file.output, HasSubstr("absent.jsonl"));
  base::write_file_atomic(valid_, "{\"input_ids\": [1, 2]}\n{\"input_ids\": [1, 9999]}\n");
  const End wrong_id = run(launch(2, eval({"--pp", "2"})));
  EXPECT_EQ(wrong_id.code, 3);
  EXPECT_THAT(wrong_id.output, HasSubstr("line 2 of '" + valid_ + "': input_ids [1] is 9999"));
  EXPECT_THAT(run(troika({"eval", "--help"})).output, HasSubstr("usage: troika eval PATH"));
}

TEST_F(Eval, SaysWhereItIsWhenAskedAndCtrlCEndsItAtOnce) {
  std::string many;
  for (int i = 0; i < 200000; ++i) many += "{\"input_ids\": [1, 2, 3, 4, 5, 6, 7, 8]}\n";
  base::write_file_atomic(valid_, many);
  Program program(troika(eval({})));
  program.await_output("evaluated once");
  program.signal(SIGUSR1);
  program.await_output("rank 0 is at ");
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 1000 + SIGINT);
}

TEST(TrainingOnTokenIds, CountsLabelsThatAreNotMaskedAlikeInLayouts) {
  const Folder folder;
  const std::string ids = folder / "ids.jsonl";
  write_samples(ids);
  for (const auto& [layout, name] : {std::pair{Words{"--dp", "2"}, "dp"}, {Words{"--pp", "2"}, "pp"}}) {
    const End end =
        run(launch(2, small_run(ids, folder / name) + Words{"--steps", "2", "--log.progress", "none"} + layout));
    ASSERT_EQ(end.code, 0) << end.output;
  }
  expect_rows(read_rows(folder / "pp"), read_rows(folder / "dp"), "token ids");
  EXPECT_EQ(read_rows(folder / "dp")[0].tokens, 4 * (5 + 15 + 3));  // 12 samples: 4 epochs of 3
}

}  // namespace
}  // namespace troika::commands
