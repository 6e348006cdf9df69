#include "data/source.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "base/text_files_test_support.h"

namespace troika::data {
namespace {
using base::message_of;
using base::TestFolder;
using testing::AllOf;
using testing::HasSubstr;

const char* const info = R"({
  "identity": {"file_name": "identity.json", "num_samples": 5},
  "glaive": {"file_name": "glaive.jsonl", "formatting": "sharegpt", "columns": {"messages": "talk", "tools": "apis"},
             "tags": {"role_tag": "who", "user_tag": "me"}},
  "corpus": {"file_name": "texts", "columns": {"prompt": "body"}},
  "hub": {"hf_hub_url": "someone/something"},
  "coded": {"script_url": "x"},
  "ranked": {"file_name": "identity.json", "ranking": true},
  "kto": {"file_name": "identity.json", "columns": {"kto_tag": "label"}},
  "seen": {"file_name": "identity.json", "columns": {"images": "images"}},
  "gone": {"file_name": "gone.json"},
  "outside": {"file_name": "texts/../../identity.json"},
  "beside": {"file_name": "texts", "folder": "../more"},
  "odd": {"file_name": "identity.json", "formatting": "dolly"},
  "table": {"file_name": "t.parquet"}
})";

class Sources : public testing::Test {
 protected:
  Sources() {
    for (const char* name : {"dataset_info.json", "identity.json", "glaive.jsonl", "texts/a.jsonl", "t.parquet",
                             "a,b.txt", "more/b/t.csv.gz"})
      folder_.write(name, std::string(name) == "dataset_info.json" ? info : "{}");
    settings_.folder = folder_.path();
  }
  std::vector<Source> find(const std::string& stated) { return find_sources(stated, settings_); }
  std::string error(const std::string& stated) {
    return base::message_of<base::DataError>([&] { find(stated); });
  }

  base::TestFolder folder_;
  config::DataSettings settings_;
};

TEST_F(Sources, ArePathsAndNamesPartedByCommas) {
  settings_.max_samples = 20;
  const auto sources = find("identity, " + (folder_ / "glaive.jsonl"));
  ASSERT_EQ(sources.size(), 2);
  EXPECT_EQ(sources[0].path, folder_ / "identity.json");
  EXPECT_EQ(sources[0].shape->format, Format::alpaca);
  EXPECT_EQ(sources[0].max_samples, 5);
  EXPECT_EQ(sources[1].path, folder_ / "glaive.jsonl");
  EXPECT_FALSE(sources[1].shape.has_value());
  EXPECT_EQ(sources[1].max_samples, 20);
}

TEST_F(Sources, MayHaveCommasInTheirPath) { EXPECT_EQ(find(folder_ / "a,b.txt").size(), 1); }

TEST_F(Sources, HaveColumnsAndTagsOfTheirEntry) {
  const RecordShape shape = *find("glaive")[0].shape;
  EXPECT_EQ(shape.columns.messages, "talk");
  EXPECT_EQ(shape.columns.tools, "apis");
  EXPECT_EQ(shape.tags.role, "who");
  EXPECT_EQ(shape.tags.user, "me");
  EXPECT_EQ(shape.tags.assistant, "gpt");
}

TEST_F(Sources, OfTextTakeThePromptColumn) {
  settings_.format = config::DataFormat::text;
  const Source source = find("corpus")[0];
  EXPECT_EQ(source.shape->format, Format::text);
  EXPECT_EQ(source.text_key, "body");
}

TEST_F(Sources, RefuseWhatIsNotDoneByName) {
  EXPECT_THAT(error("hub"), AllOf(HasSubstr("'hf_hub_url'"), HasSubstr("nothing is downloaded")));
  EXPECT_THAT(error("coded"), HasSubstr("'script_url'"));
  EXPECT_THAT(error("ranked"), HasSubstr("'ranking'"));
  EXPECT_THAT(error("kto"), HasSubstr("'kto_tag'"));
  EXPECT_THAT(error("seen"), HasSubstr("'images': training supports only text"));
  EXPECT_THAT(error("odd"), HasSubstr("alpaca, sharegpt or openai, not 'dolly'"));
  EXPECT_THAT(error("table"),
              HasSubstr("parquet files are not supported: convert the file to JSON lines\n  python3 -c \"import pandas"));
  EXPECT_THAT(error("gone"), HasSubstr("gone.json', which does not exist"));
  EXPECT_THAT(error("outside"), HasSubstr("'file_name' is 'texts/../../identity.json', which is outside the folder"));
  EXPECT_THAT(error("beside"), HasSubstr("'folder' is '../more', which is outside the folder"));
}

TEST_F(Sources, RefuseTablesInFoldersToo) {
  folder_.write("more/b/t.XLSX", "PK");
  EXPECT_THAT(error(folder_ / "more"), HasSubstr("more/b/t.XLSX': xlsx files are not supported"));
  settings_.format = config::DataFormat::text;
  EXPECT_EQ(find(folder_ / "more").size(), 1);
}

TEST_F(Sources, OfDatasetInfoDoNotLeaveItsFolderByALink) {
  const TestFolder outside;
  std::filesystem::create_symlink(outside.write("secret.json", "{}"), folder_ / "gone.json");
  EXPECT_THAT(error("gone"),
              AllOf(HasSubstr("gone.json', a link that points outside the folder"), HasSubstr("data.train")));
  EXPECT_EQ(find(folder_ / "gone.json").size(), 1);
  std::filesystem::remove(folder_ / "gone.json");
  std::filesystem::create_symlink("identity.json", folder_ / "gone.json");
  EXPECT_EQ(find("gone").size(), 1);
}

TEST_F(Sources, RefusePipes) {
  EXPECT_THAT(error("/dev/fd/999"), HasSubstr("'/dev/fd/999' is a pipe, which can be read only once"));
}

TEST_F(Sources, RefuseAFormatThatTheirEntryContradicts) {
  settings_.format = config::DataFormat::alpaca;
  EXPECT_THAT(base::message_of<base::ConfigError>([&] { find("glaive"); }),
              AllOf(HasSubstr("data.format is alpaca"), HasSubstr("'glaive'"), HasSubstr("is sharegpt")));
  EXPECT_EQ(find("identity").size(), 1);
}

TEST_F(Sources, NameTheNearestOne) {
  EXPECT_THAT(error("identiti"), AllOf(HasSubstr("'identiti' does not exist"), HasSubstr("(nearest: identity)")));
  settings_.folder.clear();
  EXPECT_THAT(error("no/such"), HasSubstr("'no/such' does not exist: give a text file"));
}

}  // namespace
}  // namespace troika::data
