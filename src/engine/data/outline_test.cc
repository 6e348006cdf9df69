#include "data/outline.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/temporary_folder_test_support.h"

namespace troika::data {
namespace {

TEST(Outline, TextFillsItsSamplesAndConversationsDoNot) {
  const base::TestFolder folder;
  const std::string text = folder.write("a.txt", "some text\n");
  const std::string chats = folder.write("chats.jsonl", "{\"instruction\": \"a\", \"input\": \"\", \"output\": \"b\"}\n");
  const std::string lines = folder.write("lines.jsonl", "{\"text\": \"some text\"}\n");
  const config::DataSettings settings;
  EXPECT_EQ(outline_of(text, settings).filling, Filling::full);
  EXPECT_EQ(outline_of(lines, settings).filling, Filling::full);
  const Outline both = outline_of(text + "," + chats, settings);
  EXPECT_EQ(both.filling, Filling::uneven);
  EXPECT_EQ(both.record_bytes, 49);
  EXPECT_THROW(outline_of(folder / "none", settings), base::DataError);
}

}  // namespace
}  // namespace troika::data
