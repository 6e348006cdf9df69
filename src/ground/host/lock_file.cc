#include "host/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_name.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "host/process.h"

namespace troika::host {
namespace {

constexpr std::chrono::milliseconds between_looks{100};
constexpr int looks_at_an_empty_claim = 100;  // whoever made it was killed before its first word
constexpr std::int64_t most_claim_bytes = 4096;

[[noreturn]] void refuse_lock(base::Phrase what, const std::string& path, int cause) {
  throw base::DataError(base::say(what, path, base::system_cause(cause)));
}

std::string claim_text() {
  return fmt::format("{}\n{}\n{}\n", base::host_name(), ::getpid(), process_start(::getpid()));
}

struct Claimant {
  std::string host;
  std::int64_t pid = 0, start = 0;
};

// Nothing while it has no words yet.
std::optional<Claimant> claimant_in(const std::string& text) {
  const std::vector<std::string> lines = base::split(text, '\n');
  Claimant claimant;
  if (lines.size() < 4 || !base::parse_int(lines[1], &claimant.pid) || !base::parse_int(lines[2], &claimant.start))
    return std::nullopt;
  claimant.host = lines[0];
  return claimant;
}

// If several processes find the same claim abandoned, one moves it away; a claim that another has made meanwhile goes
// back.
void remove_abandoned(const std::string& path, const std::string& text) {
  const std::string aside = fmt::format("{}.{}", path, ::getpid());
  if (::rename(path.c_str(), aside.c_str()) != 0) return;
  const std::optional<base::RunFile> moved = base::RunFile::open(aside);
  const bool is_other = moved && moved->text(0, most_claim_bytes) != text;
  if (is_other) [[maybe_unused]] const int back = ::link(aside.c_str(), path.c_str());
  ::unlink(aside.c_str());
}

bool keeps_no_locks(int cause) { return cause == ENOLCK || cause == ENOSYS || cause == EOPNOTSUPP || cause == EINVAL; }

}  // namespace

ClaimFile::ClaimFile(std::string path, const WhileWaiting& while_waiting) : path_(std::move(path)) {
  for (int empty_looks = 0;; std::this_thread::sleep_for(between_looks)) {
    const base::Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file) {
      int cause = base::write_whole(file.number(), claim_text());
      if (cause == 0) cause = base::sync_whole(file.number());
      if (cause == 0) return;
      ::unlink(path_.c_str());
      refuse_lock(base::Phrase("cannot write '{}': {}"), path_, cause);
    }
    if (errno != EEXIST) refuse_lock(base::Phrase("cannot create '{}': {}"), path_, errno);
    const std::optional<base::RunFile> there = base::RunFile::open(path_);
    const std::string text = there ? there->text(0, most_claim_bytes) : "";
    const std::optional<Claimant> claimant = claimant_in(text);
    const bool is_here = claimant && claimant->host == base::host_name();
    const bool is_gone = is_here && process_start(claimant->pid) != claimant->start;
    empty_looks = claimant ? 0 : empty_looks + 1;
    if (is_gone || empty_looks > looks_at_an_empty_claim)
      remove_abandoned(path_, text);
    else if (while_waiting)
      while_waiting(!claimant || is_here ? base::Text{}
                                         : base::say("process {} on {}", claimant->pid, claimant->host));
  }
}

ClaimFile::~ClaimFile() { ::unlink(path_.c_str()); }

LockFile::LockFile(const std::string& path, const WhileWaiting& while_waiting)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)) {
  if (!file_) refuse_lock(base::Phrase("cannot open '{}': {}"), path, errno);
  while (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
    if (keeps_no_locks(errno)) {
      claim_ = std::make_unique<ClaimFile>(path + ".held", while_waiting);
      return;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) refuse_lock(base::Phrase("cannot lock '{}': {}"), path, errno);
    if (while_waiting) while_waiting({});
    std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace troika::host
