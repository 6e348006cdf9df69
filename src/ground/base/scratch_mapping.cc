#include "base/scratch_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/system_cause.h"
#include "base/units.h"

namespace troika::base {

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
    throw DataError(say("'{}' cannot hold a file of {} for optimizer state: {}; name another folder (parallel.offload_folder) or make room", folder, format_bytes(bytes), system_cause(error)));
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
