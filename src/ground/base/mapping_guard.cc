#include "base/mapping_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/cause.h"
#include "base/say.h"
#include "base/units.h"

namespace troika::base {
namespace {

// A place for one mapping. It is used again for later ones and freed with the guard only, so that the handler may look at it
// whatever other threads do.
struct WatchedMapping {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // end 0: free
  std::atomic<std::int64_t> failed_at{-1};       // byte of the file that could not be read; -1: none
  std::string name;                              // this and the next not for the handler
  bool is_named_file = false;                    // `name` is its path, not that of a text it was made from
  WatchedMapping* next = nullptr;
};

}  // namespace

struct MappingWatch {
  std::atomic<WatchedMapping*> first{nullptr};
  std::atomic<std::int64_t> failures{0};  // mappings that are there and failed
  std::mutex mutex;                       // of those who are not the handler
  struct sigaction before {};
};

namespace {

std::atomic<MappingWatch*> watch_of_process{nullptr};  // as the handler is the process's

// The entry that holds `address`. Between the two loads of begin the entry may have become another mapping's.
WatchedMapping* mapping_at(const MappingWatch& watch, std::uintptr_t address) {
  for (WatchedMapping* entry = watch.first; entry != nullptr; entry = entry->next) {
    const std::uintptr_t begin = entry->begin, end = entry->end;
    if (begin == entry->begin && begin <= address && address < end) return entry;
  }
  return nullptr;
}

// Only calls that a handler may make: atomics, and mmap, which is a bare system call on Linux.
bool becomes_zeros(const MappingWatch& watch, const siginfo_t& info) {
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  WatchedMapping* entry = info.si_code == BUS_ADRERR ? mapping_at(watch, address) : nullptr;
  if (entry == nullptr) return false;
  const std::uintptr_t begin = entry->begin, end = entry->end;
  std::int64_t none = -1;  // another thread may have met the same failure
  if (entry->failed_at.compare_exchange_strong(none, static_cast<std::int64_t>(address - begin)))
    ++watch_of_process.load()->failures;
  void* zeros = ::mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return zeros != MAP_FAILED;
}

void hear_sigbus(int signal, siginfo_t* info, void*) {
  const int code = errno;
  const MappingWatch* watch = watch_of_process;
  if (watch != nullptr && becomes_zeros(*watch, *info)) {
    errno = code;
    return;
  }
  if (watch != nullptr) ::sigaction(signal, &watch->before, nullptr);
  ::raise(signal);  // arrives when this handler has returned
}

WatchedMapping* entry_of(const MappingWatch& watch, const MappedFile& file) {
  const auto begin = reinterpret_cast<std::uintptr_t>(file.data());
  for (WatchedMapping* entry = watch.first; entry != nullptr; entry = entry->next)
    if (entry->end != 0 && entry->begin == begin) return entry;
  return nullptr;
}

WatchedMapping* free_entry(MappingWatch& watch) {
  for (WatchedMapping* entry = watch.first; entry != nullptr; entry = entry->next)
    if (entry->end == 0) return entry;
  auto* fresh = new WatchedMapping;
  fresh->next = watch.first;
  watch.first = fresh;
  return fresh;
}

std::size_t bytes_at(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

Text cause_of(const WatchedMapping& entry, std::size_t mapped_bytes) {
  const std::size_t now = bytes_at(entry.name);
  if (entry.is_named_file && now < mapped_bytes) return say("it was truncated to {} of its {} bytes while it was read; restore it", now, mapped_bytes);
  return say("its disk or network file system failed, or it was changed while it was read ({} bytes); check the system log (dmesg), and restore it", mapped_bytes);
}

}  // namespace

MappingGuard::MappingGuard() : watch_(std::make_unique<MappingWatch>()) {
  MappingWatch* none = nullptr;
  if (!watch_of_process.compare_exchange_strong(none, watch_.get()))
    throw BugError("there are two guards over mapped files");
  struct sigaction action {};
  action.sa_sigaction = hear_sigbus;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, &action, &watch_->before) == 0) return;
  watch_of_process = nullptr;
  throw BugError(fmt::format("no handler for SIGBUS can be set: {}", std::strerror(errno)));
}

MappingGuard::~MappingGuard() {
  ::sigaction(SIGBUS, &watch_->before, nullptr);
  watch_of_process = nullptr;
  for (const WatchedMapping* entry = watch_->first; entry != nullptr;) delete std::exchange(entry, entry->next);
}

void watch_mapping(const MappedFile& file, const std::string& name) {
  MappingWatch* watch = watch_of_process;
  if (watch == nullptr || file.size() == 0) return;
  const std::lock_guard<std::mutex> lock(watch->mutex);
  WatchedMapping* entry = free_entry(*watch);
  entry->name = name;
  entry->is_named_file = bytes_at(name) == file.size();
  entry->failed_at = -1;
  entry->begin = reinterpret_cast<std::uintptr_t>(file.data());
  entry->end = entry->begin + file.size();
}

void forget_mapping(const MappedFile& file) noexcept {
  MappingWatch* watch = watch_of_process;
  if (watch == nullptr || file.size() == 0) return;
  const std::lock_guard<std::mutex> lock(watch->mutex);
  WatchedMapping* entry = entry_of(*watch, file);
  if (entry == nullptr) return;
  entry->end = 0;
  if (entry->failed_at >= 0) --watch->failures;
}

void check_mapping(const MappedFile& file) {
  MappingWatch* watch = watch_of_process;
  if (watch == nullptr || watch->failures == 0 || file.size() == 0) return;
  const std::lock_guard<std::mutex> lock(watch->mutex);
  const WatchedMapping* entry = entry_of(*watch, file);
  if (entry == nullptr || entry->failed_at < 0) return;
  throw DataError(say("'{}' cannot be read at byte {}: {}", entry->name, entry->failed_at.load(), cause_of(*entry, file.size())),
                  Cause::unreadable_file);
}

static std::int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }

static int open_nameless(const std::string& folder) {
  std::string path = folder + "/troika-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) unlink(path.c_str());
  return file;
}

ScratchMapping::ScratchMapping(const std::string& folder, std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  make_directories(folder);
  const auto refuse = [&](int error) {
    if (file_ >= 0) close(file_);
    throw DataError(say("'{}' cannot store a file of {} for optimizer state: {}; choose another folder (parallel.offload_folder) or free space", folder, format_bytes(bytes), system_cause(error)));
  };
  file_ = open_nameless(folder);
  if (file_ < 0) refuse(errno);
  int full = EINTR;  // a full disk is found now, not as a signal in the middle of a step
  while (full == EINTR) full = posix_fallocate(file_, 0, bytes);
  if (full != 0) refuse(full);
  data_ = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (data_ == MAP_FAILED) refuse(errno);
}

ScratchMapping::~ScratchMapping() {
  if (bytes_ == 0) return;
  munmap(data_, static_cast<std::size_t>(bytes_));
  close(file_);
}

void ScratchMapping::will_need(std::int64_t offset, std::int64_t bytes) const {
  if (bytes > 0) posix_fadvise(file_, offset, bytes, POSIX_FADV_WILLNEED);
}

void ScratchMapping::drop(std::int64_t offset, std::int64_t bytes) const {
  const std::int64_t page = page_bytes();
  const std::int64_t begin = (offset + page - 1) / page * page, end = (offset + bytes) / page * page;
  if (begin < end) madvise(static_cast<char*>(data_) + begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
}

void ScratchMapping::write_back(std::int64_t offset, std::int64_t bytes) const {
  if (bytes > 0) sync_file_range(file_, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

}  // namespace troika::base
