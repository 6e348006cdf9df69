#include "checkpoint/disks.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/run_files.h"
#include "base/text_files_test_support.h"
#include "checkpoint/manifest.h"
#include "comm/channel.h"

namespace troika::checkpoint {
namespace {
using ::testing::ElementsAre;

void link_to(const std::string& target, const std::string& path) {
  ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0) << path;
}

std::vector<std::string> names_below(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string write_step(const base::TestFolder& folder, const std::string& below, std::int64_t step) {
  const std::string name = below + "/" + step_folder_name(step);
  folder.write(name + "/manifest.json", "{}");
  folder.write(name + "/model/config.json", "{}");
  return folder / name;
}

void prune_alone(const std::string& root, std::int64_t newest, std::int64_t keep) {
  prune(root, newest, {keep, {}}, Disks{{0}}, *comm::make_self_channel("world"));
}

TEST(Prune, UnlinksACheckpointThatWasOnlyLinkedAndLeavesItWhereItLies) {
  const base::TestFolder folder;
  const std::string archived = write_step(folder, "archive/checkpoints", 10);
  const auto before = names_below(folder / "archive");
  for (const std::int64_t step : {20, 30, 40}) write_step(folder, "run/checkpoints", step);
  const std::string root = folder / "run/checkpoints";
  link_to(archived, root + "/step-00000010");
  prune_alone(root, 40, 2);
  EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000030", "step-00000040"));
  EXPECT_EQ(names_below(folder / "archive"), before);
}

TEST(Prune, LooksBehindNoLinkOfAnyNameThatItRemoves) {
  const base::TestFolder folder;
  folder.write("precious/manifest.json", "mine");
  folder.write("precious/below/thesis", "mine");
  const auto before = names_below(folder / "precious");
  const std::string root = folder / "run/checkpoints";
  write_step(folder, "run/checkpoints", 20);
  for (const char* name : {".disk-00000-0011223344556677", "step-00000003.partial", "step-00000004", "step-00000030",
                           "step-00000030.left"})
    link_to(folder / "precious", root + "/" + name);
  prune_alone(root, 20, 1);
  EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000020", "step-00000030.left"));
  EXPECT_TRUE(base::is_link(root + "/step-00000030.left")) << "a later step is set aside, be it a link";
  EXPECT_EQ(names_below(folder / "precious"), before);
}

TEST(EmptyUnfinished, EmptiesFoldersAndUnlinksLinks) {
  const base::TestFolder folder;
  folder.write("precious/thesis", "mine");
  folder.write("precious/below/notes", "mine");
  folder.write("root/step-00000002.partial/model/part", "half");
  folder.write("root/step-00000003.partial", "a file");
  const auto before = names_below(folder / "precious");
  const std::string root = folder / "root";
  link_to(folder / "precious", root + "/step-00000001.partial");
  link_to(folder / "precious", root + "/step-00000002.partial/state");
  empty_unfinished(root);
  EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000002.partial"));
  EXPECT_THAT(base::list_directory(root + "/step-00000002.partial"), ElementsAre());
  EXPECT_EQ(names_below(folder / "precious"), before);
}

}  // namespace
}  // namespace troika::checkpoint
