// Model folders out of runs and back into them, with the real programs.
#include <gmock/gmock.h>

#include "base/file.h"
#include "commands/export/export.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Export : public testing::Test {
 protected:
  Words train(const std::string& name, const Words& more) const {
    return small_run(corpus_, folder_ / name) + Words{"--log.progress", "none", "--steps", "4"} + more;
  }
  // A run that takes its model from `path`.
  Words train_from(const std::string& path, const std::string& name, const Words& more) const {
    return Words{"train",       "--model.path", path, "--data.train",       corpus_, "--data.tokenizer",
                 "bytes",       "--seq-len",    "16", "--micro-batch-size", "1",     "--global-batch-size",
                 "12",          "--steps",      "1",  "--log.progress",     "none",  "--out",
                 folder_ / name} +
           more;
  }
  static End export_to(const Words& words) { return run(troika(Words{"export"} + words)); }
  std::string weights_of(const std::string& name) const {
    return base::read_file(folder_ / name + "/model.safetensors");
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(Export, RunsOfAllLayoutsGiveTheSameFolder) {
  ASSERT_EQ(run(troika(train("alone", {}))).code, 0);
  ASSERT_EQ(run(launch(3, train("pp3", {"--pp", "3"}))).code, 0);
  ASSERT_EQ(run(launch(2, train("zero3", {"--dp", "2", "--zero", "3"}))).code, 0);
  ASSERT_EQ(run(launch(2, train("tp2", {"--tp", "2"}))).code, 0);
  const End end = export_to({folder_ / "alone", folder_ / "alone-out"});
  ASSERT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output,
              AllOf(HasSubstr("46 tensors, 45.6 K parameters in fp32"), HasSubstr("the model reads bytes")));
  for (const char* name : {"pp3", "zero3", "tp2"}) {
    ASSERT_EQ(run_export({folder_ / name, folder_ / name + "-out"}), 0);
    EXPECT_THAT(base::list_directory(folder_ / name + "-out"),
                ElementsAre("config.json", "generation_config.json", "model.safetensors"));
  }
  EXPECT_EQ(weights_of("pp3-out"), weights_of("alone-out"));
  EXPECT_EQ(weights_of("zero3-out"), weights_of("alone-out"));
  EXPECT_EQ(weights_of("tp2-out").size(), weights_of("alone-out").size());

  ASSERT_EQ(run(troika(train_from(folder_ / "tp2-out", "from-folder", {}))).code, 0);
  ASSERT_EQ(run(launch(2, train_from(folder_ / "tp2", "from-run", {"--pp", "2"}))).code, 0);
  expect_rows(read_rows(folder_ / "from-run"), read_rows(folder_ / "from-folder"), "from the run itself");
}

TEST_F(Export, ARunKeepsTheDtypeAndTheTokenIdsOfItsFolder) {
  ASSERT_EQ(run(troika(train("first", {}))).code, 0);
  ASSERT_EQ(export_to({folder_ / "first", folder_ / "bf16", "--dtype", "bf16"}).code, 0);
  base::write_file_atomic(folder_ / "bf16/generation_config.json", "{");
  const End first = run(launch(2, train_from(folder_ / "bf16", "second", {"--dp", "2", "--zero", "1"})));
  ASSERT_EQ(first.code, 0) << first.output;
  const std::string weights = "weights: 45.6 K parameters (bf16) from " + folder_ / "bf16; this rank read ";
  EXPECT_THAT(first.output, HasSubstr(weights));
  const std::size_t note = first.output.find("reject it unless --generation-config none skips it");
  EXPECT_LT(note, first.output.find(weights)) << "before the training: " << first.output;
  for (const char* log : {"second/logs/rank-00000.log", "second/logs/rank-00001.log"})
    EXPECT_THAT(base::read_file(folder_ / log), HasSubstr(weights));
  const std::string file = folder_ / "bf16/model.safetensors", whole = base::read_file(file);
  base::write_file_atomic(file, whole.substr(0, whole.size() - 4));
  const End resumed = run(troika(train_from(folder_ / "bf16", "second", {"--steps", "2"})));
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("resumed from step 1"));
  const End end = export_to({folder_ / "second", folder_ / "out"});
  EXPECT_THAT(end.output, HasSubstr("parameters in bf16"));

  const End unfit = run(launch(2, train_from(folder_ / "bf16", "third", {"--dp", "2"})));
  EXPECT_EQ(unfit.code, 3) << unfit.output;
  EXPECT_THAT(unfit.output, HasSubstr("model.safetensors' is not a valid safetensors file"));
  EXPECT_FALSE(base::file_exists(folder_ / "third/metrics.jsonl"));
  const End refused = export_to({folder_ / "bf16", folder_ / "other"});
  EXPECT_EQ(refused.code, 3) << refused.output;
  EXPECT_THAT(run(troika({"exprt"})).output, HasSubstr("did you mean 'export'?"));
}

}  // namespace
}  // namespace troika::commands
