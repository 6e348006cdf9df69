#include "comm/mailbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"

namespace troika::comm {

void Bell::ring() {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0)
    syscall(SYS_futex, &count_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Bell::wait(std::uint32_t count, double seconds) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &count_, FUTEX_WAIT, count, &limit, nullptr, 0);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

// Before the boxes.
struct Mailboxes::Front {
  static constexpr std::uint64_t written = 0x54524f494b41424f;
  std::uint64_t magic = written;
  std::uint64_t sentinel = 0, sentinel_address = 0;  // a number in the owner's own memory, and where
  Bell bell;
};

namespace {

constexpr std::size_t front_bytes = 4096;

// A value that others read to find out whether they may.
const std::uint64_t sentinel = 0x6d61792d72656164;

// `sentence`: with a place for the system's word behind those of `arguments`.
template <class... Arguments>
[[noreturn]] void fail_to(base::Phrase sentence, const Arguments&... arguments) {
  throw base::PeerError(base::say(sentence, arguments..., base::system_cause(errno)));
}

constexpr base::Phrase cannot_make = base::Phrase("cannot create memory to share with ranks on this host: {}");

}  // namespace

Mailboxes::Mailboxes() : owner_(getpid()) {
  descriptor_ = memfd_create("troika", MFD_CLOEXEC);
  if (descriptor_ < 0) fail_to(cannot_make);
  const std::size_t bytes = front_bytes + most_ranks * sizeof(Box);
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail_to(cannot_make);
  map(descriptor_, bytes);
  new (front_) Front{Front::written, sentinel, reinterpret_cast<std::uint64_t>(&sentinel), {}};
  // Fresh pages are zero, which is a free line.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0,
        0);  // where the kernel asks for it, ranks may read each other's memory
}

void Mailboxes::map(int descriptor, std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) fail_to(base::Phrase("cannot map memory shared by ranks on this host: {}"));
  bytes_ = bytes;
  front_ = static_cast<Front*>(mapped);
  bell_ = &front_->bell;
  boxes_ = reinterpret_cast<Box*>(static_cast<std::byte*>(mapped) + front_bytes);
}

std::string Mailboxes::card() const { return fmt::format("{} {}", owner_, descriptor_); }

Mailboxes Mailboxes::of(const std::string& card) {
  const std::vector<std::string> words = base::split(card, ' ');
  std::int64_t owner = 0;
  if (words.size() != 2 || !base::parse_int(words[0], &owner))
    throw base::PeerError(
        base::say("a rank gave '{}' as the location of its mailboxes: its process or the store is faulty", card));
  Mailboxes other(static_cast<pid_t>(owner), -1);
  const std::string path = fmt::format("/proc/{}/fd/{}", words[0], words[1]);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail_to(base::Phrase("cannot open {}: {}"), path);
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0 && status.st_size > static_cast<off_t>(front_bytes);
  if (known) other.map(descriptor, static_cast<std::size_t>(status.st_size));
  close(descriptor);
  if (!known || other.front_->magic != Front::written)
    throw base::PeerError(base::say("{} does not hold a rank's mailboxes", path));
  std::uint64_t read = 0;
  if (!read_memory(other.owner_, other.front_->sentinel_address, sizeof read, &read) || read != other.front_->sentinel)
    fail_to(base::Phrase("cannot read the memory of process {}: {}"), owner);
  return other;
}

Mailboxes::Mailboxes(Mailboxes&& other) noexcept
    : owner_(other.owner_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_),
      front_(std::exchange(other.front_, nullptr)),
      bell_(other.bell_),
      boxes_(other.boxes_) {}

Mailboxes::~Mailboxes() {
  if (front_ != nullptr) munmap(front_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::string memory_neighbourhood() {
  const auto name_of = [](const char* space) {
    char text[64] = "";
    const ssize_t length = readlink(space, text, sizeof text - 1);
    return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  };
  std::string boot;
  try {
    boot = base::read_file("/proc/sys/kernel/random/boot_id");
  } catch (const base::Error&) {
    return fmt::format("process {}", getpid());
  }
  return fmt::format("{} {} {} {} {}", base::trim(boot), name_of("/proc/self/ns/pid"), name_of("/proc/self/ns/net"),
                     name_of("/proc/self/ns/user"), geteuid());
}

bool read_memory(pid_t process, std::uint64_t address, std::size_t bytes, void* into) {
  auto* to = static_cast<std::byte*>(into);
  while (bytes > 0) {
    constexpr std::size_t most = std::size_t{1} << 30;  // the kernel takes less than 2^31 at once
    const std::size_t now = std::min(bytes, most);
    iovec local{to, now}, remote{reinterpret_cast<void*>(address), now};
    const ssize_t read = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (read <= 0) return false;
    to += read;
    address += static_cast<std::uint64_t>(read);
    bytes -= static_cast<std::size_t>(read);
  }
  return true;
}

}  // namespace troika::comm
