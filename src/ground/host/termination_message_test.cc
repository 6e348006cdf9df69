#include "host/process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::host {
namespace {

TEST(TerminationMessage, ReplacesWhatTheFileHolds) {
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/log";
  base::write_file_atomic(file, "something longer than what comes");
  leave_termination_message("rank 1 failed", file);
  EXPECT_EQ(base::read_file(file), "rank 1 failed");
}

TEST(TerminationMessage, IsMadeNowhereElse) {
  const base::TemporaryFolder folder;
  leave_termination_message("x", folder.path() + "/none");
  EXPECT_FALSE(base::file_exists(folder.path() + "/none"));
  ASSERT_EQ(::mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  leave_termination_message("x", folder.path() + "/pipe");  // and does not hang
}

TEST(TerminationMessage, EndsWithAWholeCharacter) {
  const base::TemporaryFolder folder;
  const std::string file = folder.path() + "/log";
  base::write_file_atomic(file, "");
  leave_termination_message(std::string(4095, 'a') + "模型", file);
  EXPECT_EQ(base::read_file(file), std::string(4095, 'a'));
  leave_termination_message(std::string(4093, 'a') + "模型", file);
  EXPECT_EQ(base::read_file(file), std::string(4093, 'a') + "模");
}

}  // namespace
}  // namespace troika::host
