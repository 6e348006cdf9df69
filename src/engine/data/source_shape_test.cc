#include "data/source_shape.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/temporary_folder_test_support.h"

namespace troika::data {
namespace {

TEST(RecordBytes, AreThoseOfConversationsAndNotOfText) {
  const base::TestFolder folder;
  const std::string text = folder.write("a.txt", "some text\n");
  const std::string chats = folder.write("chats.jsonl", "{\"instruction\": \"a\", \"input\": \"\", \"output\": \"b\"}\n");
  const std::string lines = folder.write("lines.jsonl", "{\"text\": \"some text\"}\n");
  const config::DataSettings settings;
  EXPECT_EQ(record_bytes(text, settings), 0);
  EXPECT_EQ(record_bytes(lines, settings), 0);
  EXPECT_EQ(record_bytes(text + "," + chats, settings), 49);
  EXPECT_THROW(record_bytes(folder / "none", settings), base::DataError);
}

}  // namespace
}  // namespace troika::data
