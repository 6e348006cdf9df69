#include "data/sequence_file.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/text_files_test_support.h"
#include "data/samples.h"

namespace troika::data {
namespace {
using base::message_of;
using base::TestFolder;
using testing::ElementsAre;
using testing::HasSubstr;

using Ids = std::vector<std::int32_t>;

void write(const std::string& path, std::int64_t vocab) {
  SequenceWriter writer(path, vocab);
  const Ids a{1, 2, 3, 4, 5, 6, 7, 8, 9}, b{static_cast<std::int32_t>(vocab - 1)};
  const std::vector<std::uint8_t> loss_a{0, 0, 1, 1, 0, 0, 0, 0, 1}, loss_b{1};
  writer.append(a.data(), loss_a.data(), 9);
  writer.append(b.data(), loss_b.data(), 1);
  Findings findings;
  findings.add(Findings::control, "<|\"end\"|>", 3);
  writer.finish({5, 2, 1}, findings);
}

TEST(SequenceFile, GivesBackWhatWasWritten) {
  const base::TestFolder folder;
  for (const std::int64_t vocab : {300, 65536, 65537, 200000}) {
    write(folder / "a", vocab);
    const SequenceFile file(folder / "a");
    EXPECT_EQ(file.count(), 2);
    EXPECT_EQ(file.length(0), 9);
    EXPECT_EQ(file.length(1), 1);
    Ids ids(9), labels(9);
    file.read(0, ids.data(), labels.data());
    EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
    const std::int32_t none = ignore_index;
    EXPECT_THAT(labels, ElementsAre(none, none, 3, 4, none, none, none, none, 9));
    file.read(1, ids.data(), labels.data());
    EXPECT_EQ(ids[0], vocab - 1);
    EXPECT_EQ(labels[0], vocab - 1);
    const SequenceCounts& c = file.counts();
    EXPECT_THAT(
        (std::vector<std::int64_t>{c.records, c.without_answer, c.duplicates, c.sequences, c.tokens, c.loss_tokens}),
        ElementsAre(5, 2, 1, 2, 10, 4));
    EXPECT_EQ(file.findings().to_text(), R"({"control <|\"end\"|>":3})");
  }
  EXPECT_THAT(base::list_directory(folder.path()), ElementsAre("a"));
}

TEST(SequenceFile, KnowsLengthsFromBytes) {
  for (const std::int64_t width : {2, 4})
    for (std::int64_t length = 1; length < 500; ++length) EXPECT_EQ(length_of(bytes_of(length, width), width), length);
}

TEST(SequenceFile, IsRefusedWhereAnyByteIsWrong) {
  const base::TestFolder folder;
  write(folder / "a", 300);
  const std::string sound = base::read_file(folder / "a");
  const auto error = [&](const std::string& content) {
    const std::string path = folder / "b";
    base::remove_tree(path);
    base::append_file(path, content);  // unlike folder.write not synced
    return base::message_of<base::DataError>([&] { const SequenceFile file(path); });
  };
  EXPECT_EQ(error(sound), "");
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string turned = sound;
    turned[at] ^= 1;
    EXPECT_THAT(error(turned), HasSubstr(folder / "b")) << at;
    EXPECT_NE(error(sound.substr(0, at)), "") << at;
  }
}

}  // namespace
}  // namespace troika::data
