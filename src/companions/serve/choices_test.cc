#include "serve/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::serve {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

class ChoicesBelow : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text = "text") const {
    const std::string full = root.path() + "/" + path;
    base::make_directories(full.substr(0, full.rfind('/')));
    base::write_file_atomic(full, text);
  }
  void model(const std::string& path) const {
    file(path + "/config.json", R"({"model_type": "qwen3", "num_hidden_layers": 4, "hidden_size": 256})");
    file(path + "/model.safetensors", std::string(2048, 'x'));
    file(path + "/vocab.json");
  }
  Choices found() const { return choices_below(root.path(), base::Language::english); }
  static std::vector<std::string> paths(const std::vector<Choice>& choices) {
    std::vector<std::string> all;
    for (const Choice& choice : choices) all.push_back(choice.path);
    return all;
  }

  const base::TemporaryFolder root;
};

TEST_F(ChoicesBelow, AreFilesOfData) {
  for (const char* name :
       {"a.jsonl", "b.json", "c.txt", "d.jsonl.gz", "e/f/g/h.json.zst", "e/notes.md", "requirements.txt",
        "e/f/g/h/i.txt", "node_modules/x/y.json", ".cache/z.txt", "tokenizer.json", "m.safetensors.index.json"})
    file(name);
  file("empty.txt", "");
  EXPECT_THAT(paths(found().data), ElementsAre("a.jsonl", "b.json", "c.txt", "d.jsonl.gz", "e/f/g/h.json.zst"));
  EXPECT_EQ(found().data[0].text, "4 B");
}

TEST_F(ChoicesBelow, AreFoldersOfModels) {
  model("models/tiny");
  file("models/broken/config.json", "{}");
  file("adapter/adapter_config.json", "{}");
  file("adapter/adapter_model.safetensors");
  EXPECT_THAT(paths(found().models), ElementsAre("adapter", "models/tiny"));
  EXPECT_EQ(found().models[1].text, "qwen3, 4 layers, width 256, 2.00 KiB");
  EXPECT_EQ(choices_below(root.path(), base::Language::chinese).models[1].text, "qwen3，4 层，宽度 256，2.00 KiB");
}

TEST_F(ChoicesBelow, OfARunAreWhatItHasExported) {
  file("runs/a/state.json", "{}");
  file("runs/a/data/part.json");
  model("runs/a/checkpoints/step-00000010/model");
  model("runs/a/exports/step-00000010");
  EXPECT_THAT(paths(found().models), ElementsAre("runs/a/exports/step-00000010"));
  EXPECT_THAT(found().data, IsEmpty());
}

TEST_F(ChoicesBelow, AreNotBehindLinks) {
  const base::TemporaryFolder elsewhere;
  base::write_file_atomic(elsewhere.path() + "/a.txt", "a");
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), (root.path() + "/away").c_str()), 0);
  ASSERT_EQ(::symlink((elsewhere.path() + "/a.txt").c_str(), (root.path() + "/b.txt").c_str()), 0);
  EXPECT_THAT(found().data, IsEmpty());
}

}  // namespace

namespace {

TEST(LinesOf, AreThoseWithText) {
  const base::TemporaryFolder folder;
  const auto count = [&](const std::string& text) {
    base::write_file_atomic(folder.path() + "/a.jsonl", text);
    std::int64_t budget = std::int64_t{1} << 30;
    return lines_of(folder.path(), "a.jsonl", &budget);
  };
  EXPECT_EQ(count(""), 0);
  EXPECT_EQ(count("{}"), 1);
  EXPECT_EQ(count("{}\n{}\n"), 2);
  EXPECT_EQ(count("{}\r\n \t\r\n\n{}"), 2);
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "{\"text\": 1}\n";
  EXPECT_EQ(count(many), 100'000);
}

TEST(LinesOf, StayWithinTheBudget) {
  const base::TemporaryFolder folder;
  base::write_file_atomic(folder.path() + "/a.jsonl", "12345\n");
  std::int64_t budget = 10;
  EXPECT_EQ(lines_of(folder.path(), "a.jsonl", &budget), 1);
  EXPECT_EQ(budget, 4);
  EXPECT_EQ(lines_of(folder.path(), "a.jsonl", &budget), std::nullopt);
  EXPECT_EQ(lines_of(folder.path(), "b.jsonl", &budget), std::nullopt);
}

}  // namespace

}  // namespace troika::serve
