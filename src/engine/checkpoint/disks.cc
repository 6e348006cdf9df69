#include "checkpoint/disks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/units.h"
#include "checkpoint/gather.h"

namespace troika::checkpoint {

using nlohmann::json;

static const char token_prefix[] = ".disk-";

bool is_disk_token(const std::string& file_name) { return file_name.rfind(token_prefix, 0) == 0; }

namespace {

// A file with a name no one has asked for before, so that no network file system can answer from its cache.
class Token {
 public:
  Token(const std::string& folder, int rank) {
    std::random_device random;
    name_ = fmt::format("{}{:05}-{:08x}{:08x}", token_prefix, rank, random(), random());
    path_ = folder + "/" + name_;
    if (!base::directory_exists(folder)) return;
    try {
      base::append_file(path_, "");
    } catch (const base::DataError&) {  // a read-only folder; its inode must do
    }
  }
  ~Token() {
    try {
      base::remove_tree(path_);
    } catch (const base::DataError&) {  // nothing depends on an empty file left behind
    }
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_, path_;
};

}  // namespace

std::string running_kernel() {
  try {
    return base::read_file("/proc/sys/kernel/random/boot_id");
  } catch (const base::DataError&) {  // no /proc: the host name must do
    return base::host_name();
  }
}

static std::string inode_of(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return "";
  return fmt::format("{}:{}:{}", running_kernel(), status.st_dev, status.st_ino);
}

std::vector<int> Disks::members(int rank) const {
  std::vector<int> ranks;
  for (std::size_t other = 0; other < leader.size(); ++other)
    if (leader[other] == leader[static_cast<std::size_t>(rank)]) ranks.push_back(static_cast<int>(other));
  return ranks;
}

// The lowest rank whose folder is also this rank's.
static int lowest_seen(const std::string& folder, int me, const std::string& my_inode,
                       const std::vector<std::string>& texts) {
  for (int rank = 0; rank < me; ++rank) {
    const json other = json_in(texts[static_cast<std::size_t>(rank)]);
    if (!my_inode.empty() && other["inode"] == my_inode) return rank;
    if (base::file_exists(folder + "/" + other["token"].get<std::string>())) return rank;
  }
  return me;
}

Disks detect_disks(const std::string& folder, comm::Channel& world) {
  const Token token(folder, world.rank());
  const std::string inode = inode_of(folder);
  const auto texts = gather(world, [&] { return json{{"token", token.name()}, {"inode", inode}}.dump(); });
  const auto lowest = gather(world, [&] { return std::to_string(lowest_seen(folder, world.rank(), inode, texts)); });
  Disks disks;
  for (const std::string& text : lowest) {
    const int rank = std::stoi(text);
    const bool earlier = rank < static_cast<int>(disks.leader.size());
    disks.leader.push_back(earlier ? disks.leader[static_cast<std::size_t>(rank)] : rank);
  }
  return disks;
}

std::int64_t free_bytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return -1;
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

base::Text missing_room(const std::string& root, std::int64_t bytes) {
  const std::int64_t free = free_bytes(root);
  if (free < 0 || free >= bytes) return {};
  return base::say(
      "'{}' on {} has {} free, but the next checkpoint needs {} there: free {} or lower --checkpoint.keep, or it cannot be saved",
      root, base::host_name(), base::format_bytes(free), base::format_bytes(bytes), base::format_bytes(bytes - free));
}

}  // namespace troika::checkpoint
