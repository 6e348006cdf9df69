#include "base/mapping_guard.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/temporary_folder_test_support.h"

namespace troika::base {
namespace {

TEST(ScratchMapping, IsZeroAtFirstAndKeepsWhatIsWrittenWhenItsPagesAreDropped) {
  const TemporaryFolder folder;
  const ScratchMapping mapping(folder.path() + "/offload", 3 * 4096 + 100);
  auto* bytes = static_cast<unsigned char*>(mapping.data());
  for (std::int64_t i = 0; i < mapping.bytes(); ++i) {
    ASSERT_EQ(bytes[i], 0);
    bytes[i] = static_cast<unsigned char>(i % 251);
  }
  mapping.write_back(0, mapping.bytes());
  mapping.drop(1, mapping.bytes() - 1);
  mapping.will_need(0, mapping.bytes());
  for (std::int64_t i = 0; i < mapping.bytes(); ++i) ASSERT_EQ(bytes[i], i % 251);
}

TEST(ScratchMapping, LeavesNoFileBehind) {
  const TemporaryFolder folder;
  const ScratchMapping mapping(folder.path(), 5000);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ScratchMapping, AFolderThatCannotBeWrittenIsNamed) {
  try {
    const ScratchMapping mapping("/proc/no-such-folder", 4096);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/no-such-folder"), std::string::npos);
  }
}

TEST(ScratchMapping, ADiskWithoutRoomIsADataErrorThatSaysHowMuchWasWanted) {
  const TemporaryFolder folder;
  try {
    const ScratchMapping mapping(folder.path(), std::int64_t{1} << 60);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("offload_folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace troika::base
