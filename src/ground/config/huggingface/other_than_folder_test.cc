
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "config/config_test_support.h"
#include "config/huggingface/model_folder.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OtherThanFolder : public testing::Test {
 protected:
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    base::make_directories((*this / name).substr(0, (*this / name).rfind('/')));
    base::write_file_atomic(*this / name, text);
  }
  static std::string said(const std::string& path) {
    const auto text = other_than_folder(path);
    return text ? text->english : "";
  }
  // As the first word of a verb that takes a model or a file of settings.
  static std::string said_of_word(const std::string& word) {
    try {
      parsed({word});
    } catch (const base::DataError& error) {
      return error.what();
    }
    return "";
  }
  const base::TemporaryFolder folder_;
};

TEST_F(OtherThanFolder, FilesSayWhatTheyAreAndWhatToGive) {
  for (const char* name : {"w.gguf", "q/unnamed", "m/model.safetensors", "pytorch_model.bin", "a.ckpt", "m/config.json"})
    write(name, std::string(name) == "q/unnamed" ? "GGUF\x03" : "{}");
  for (const char* name : {"w.gguf", "q/unnamed"}) EXPECT_EQ(said(*this / name), "") << "a GGUF file is a model";
  EXPECT_THAT(said(*this / "m/model.safetensors"),
              AllOf(HasSubstr("is a single weights file"), HasSubstr("here '" + *this / "m'")));
  for (const char* name : {"pytorch_model.bin", "a.ckpt"}) EXPECT_THAT(said(*this / name), HasSubstr("is a PyTorch file"));
  EXPECT_THAT(said(*this / "m/config.json"), HasSubstr("is a file; give the folder"));
  EXPECT_EQ(said(*this / "m"), "");
  EXPECT_EQ(said(*this / "none"), "");
}

TEST_F(OtherThanFolder, FoldersOfGgufAndOfTheHubsCacheSayWhereTheModelIs) {
  write("g/model-q4.gguf", "GGUF");
  EXPECT_THAT(said(*this / "g/"), HasSubstr("no config.json, but a GGUF file; give that file, '" + *this / "g/model-q4.gguf'"));
  write("g/config.json", "{}");
  EXPECT_EQ(said(*this / "g"), "") << "a model beside its GGUF";
  write("models--Org--Name/snapshots/0123/config.json", "{}");
  const std::string snapshot = *this / "models--Org--Name/snapshots/0123";
  for (const char* path : {"models--Org--Name", "models--Org--Name/", "models--Org--Name/snapshots"})
    EXPECT_THAT(said(*this / path), AllOf(HasSubstr("cache of the Hugging Face Hub"), HasSubstr("'" + snapshot + "'")));
  EXPECT_EQ(said(snapshot), "");
  write("models--Org--Name/snapshots/4567/config.json", "{}");
  EXPECT_THAT(said(*this / "models--Org--Name"), HasSubstr("/snapshots/REVISION"));
  write("models--Org--Name/refs/main", "4567\n");
  EXPECT_THAT(said(*this / "models--Org--Name"), HasSubstr("/snapshots/4567"));
}

TEST_F(OtherThanFolder, NamesOnTheHubAndAddressesAreToldFromMistypedPaths) {
  EXPECT_THAT(said("Qwen/Qwen3-0.6B"), HasSubstr("hf download Qwen/Qwen3-0.6B --local-dir Qwen3-0.6B"));
  EXPECT_THAT(said("https://huggingface.co/Qwen/Qwen3-0.6B"), HasSubstr("is a URL"));
  for (const char* path : {"./Qwen/Qwen3", "/Qwen/Qwen3", "a/b/c", "gpt2", "Qwen/", "runs of mine/x", "/tmp/x"})
    EXPECT_EQ(said(path), "") << path;
  EXPECT_THAT(said_of_word("Qwen/Qwen3-0.6B"), HasSubstr("looks like a model's name on the Hugging Face Hub"));
  write("w.gguf", "GGUF");
  EXPECT_THAT(said_of_word(*this / "w.gguf"), HasSubstr("give it with --model.path"));
  write("m/config.json", "{}");
  EXPECT_THAT(said_of_word(*this / "m/config.json"), HasSubstr("is a file; give the folder"));
  EXPECT_EQ(other_than_settings("settings/mine.yaml"), std::nullopt);
  try {
    model_folder_of("Qwen/Qwen3-0.6B");
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("hf download"));
  }
}

TEST_F(OtherThanFolder, PointersOfGitLfsAreNotTheFile) {
  write("m/model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  EXPECT_THROW(refuse_lfs_pointer(*this / "m/model.safetensors"), base::DataError);
  write("m/model.safetensors", "{}");
  refuse_lfs_pointer(*this / "m/model.safetensors");
}

TEST_F(OtherThanFolder, ARunIsNotPutIntoTheFolderOfAModelAnAdapterATokenizerOrACheckpoint) {
  const auto refusal = [&](const std::string& out) {
    return config_error([&] { refuse_out_of_model(out); });
  };
  for (const char* name : {"m/config.json", "a/adapter_config.json", "t/tokenizer.json", "c/manifest.json",
                           "p/pytorch_model.bin", "w/model.safetensors.index.json"}) {
    write(name, "{}");
    const std::string out = (*this / name).substr(0, (*this / name).rfind('/'));
    EXPECT_THAT(refusal(out + "/"), AllOf(HasSubstr("contains " + (*this / name).substr(out.size() + 1)),
                                          HasSubstr("such as " + out + "/run")));
    refuse_out_of_model(out + "/run");
  }
  write("r/config.yaml", "");
  write("r/tokenizer/tokenizer.json", "{}");
  refuse_out_of_model(*this / "r");
  refuse_out_of_model(*this / "none");
  refuse_out_of_model("");
}

}  // namespace
}  // namespace troika::config
