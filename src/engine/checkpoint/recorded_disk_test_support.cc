#include "checkpoint/recorded_disk_test_support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace troika::checkpoint::testing_support {
namespace fs = std::filesystem;

namespace {

struct Call {
  enum class Kind { create, write, sync, make_folder, remove, rename, exchange } kind = Kind::create;
  std::string path, to;  // relative to the root
  std::string data;
};

const char* name_of(Call::Kind kind) {
  const char* names[] = {"create", "write", "sync", "make folder", "remove", "rename", "exchange"};
  return names[static_cast<std::size_t>(kind)];
}

// A file system in memory: names lead to files that keep what was written and what of it was synced.
class Tree {
 public:
  void add_file(const std::string& path, const std::string& content) { files_[path] = {content, content}; }
  void add_folder(const std::string& path) { folders_.insert(path); }

  // False where the call cannot be done, because one before it was dropped.
  bool apply(const Call& call) {
    using Kind = Call::Kind;
    switch (call.kind) {
      case Kind::create:
        if (files_.count(call.path) == 0) files_[call.path] = {};
        return true;
      case Kind::write:
        if (files_.count(call.path) == 0) return false;
        files_[call.path].written += call.data;
        return true;
      case Kind::sync:
        if (files_.count(call.path) != 0) files_[call.path].synced = files_[call.path].written;
        return true;
      case Kind::make_folder:
        folders_.insert(call.path);
        return true;
      case Kind::remove:
        files_.erase(call.path);
        folders_.erase(call.path);
        return true;
      case Kind::rename:
        return rename(call.path, call.to);
      case Kind::exchange:
        return rename(call.path, "\n") && rename(call.to, call.path) && rename("\n", call.to);
    }
    return false;
  }

  void write_to(const std::string& root, bool unsynced_too) const {
    base::make_directories(root);
    for (const std::string& folder : folders_) base::make_directories(root + "/" + folder);
    for (const auto& [path, file] : files_) {
      base::make_directories(fs::path(root + "/" + path).parent_path().string());
      base::append_file(root + "/" + path, unsynced_too ? file.written : file.synced);
    }
  }

 private:
  struct File {
    std::string written, synced;
  };

  static bool below(const std::string& path, const std::string& folder) {
    return path == folder || path.rfind(folder + "/", 0) == 0;
  }

  bool rename(const std::string& from, const std::string& to) {
    std::map<std::string, File> files;
    std::set<std::string> folders;
    bool found = false;
    for (const auto& [path, file] : files_) {
      if (!below(path, from)) continue;
      files[to + path.substr(from.size())] = file;
      found = true;
    }
    for (const std::string& path : folders_) {
      if (!below(path, from)) continue;
      folders.insert(to + path.substr(from.size()));
      found = true;
    }
    if (!found) return false;
    for (auto it = files_.begin(); it != files_.end();) it = below(it->first, from) ? files_.erase(it) : std::next(it);
    for (auto it = folders_.begin(); it != folders_.end();) it = below(*it, from) ? folders_.erase(it) : std::next(it);
    for (auto& [path, file] : files) files_[path] = file;
    folders_.insert(folders.begin(), folders.end());
    return true;
  }

  std::map<std::string, File> files_;
  std::set<std::string> folders_;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

struct RecordedDisk::Recorder {
  std::string root;
  DiskFault fault;
  std::mutex mutex;
  Tree before;
  std::vector<Call> calls;
  std::map<int, std::string> open;  // by descriptor
  std::size_t seen = 0;

  // The path below the root; "." for the root itself, "" for others.
  std::string below_root(const std::string& path) const {
    if (path == root) return ".";
    if (path.rfind(root + "/", 0) != 0) return "";
    return path.substr(root.size() + 1);
  }

  // Whether this call is to fail; sets errno.
  bool fails() {
    const bool now = seen++ == fault.call && fault.kind != DiskFault::Kind::none;
    if (!now || fault.kind == DiskFault::Kind::short_write) return false;
    errno = fault.kind == DiskFault::Kind::no_space ? ENOSPC : EIO;
    return true;
  }
  bool writes_short() { return fault.kind == DiskFault::Kind::short_write && seen == fault.call + 1; }
};

// Tests run one after the other; the calls below have no other way to find it.
static RecordedDisk::Recorder* recorder = nullptr;

RecordedDisk::RecordedDisk(const std::string& root, const DiskFault& fault) : recorder_(std::make_unique<Recorder>()) {
  recorder_->root = root;
  recorder_->fault = fault;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = entry.path().string().substr(root.size() + 1);
    if (entry.is_directory()) {
      recorder_->before.add_folder(path);
    } else {
      recorder_->before.add_file(path, base::read_file(entry.path().string()));
    }
  }
  recorder = recorder_.get();
}

RecordedDisk::~RecordedDisk() { stop(); }

void RecordedDisk::stop() { recorder = nullptr; }

std::size_t RecordedDisk::calls() const { return recorder_->calls.size(); }

std::string RecordedDisk::describe(std::size_t call) const {
  const Call& one = recorder_->calls.at(call);
  return fmt::format("{} {} {}", name_of(one.kind), one.path, one.to);
}

void RecordedDisk::make_after(std::size_t calls, Crash crash, const std::string& to) const {
  using Kind = Call::Kind;
  const std::vector<Call>& all = recorder_->calls;
  const auto is_name = [](Kind kind) { return kind != Kind::write && kind != Kind::sync; };
  // Names change for good when the folder that holds them is synced later.
  const auto lasts = [&](std::size_t index) {
    const std::string& path = all[index].to.empty() ? all[index].path : all[index].to;
    const std::string folder = folder_of(path).empty() ? "." : folder_of(path);
    for (std::size_t i = index + 1; i < calls; ++i)
      if (all[i].kind == Kind::sync && all[i].path == folder) return true;
    return false;
  };
  // Data written to a file whose name comes later is in the file all the same: writes follow their file.
  Tree tree = recorder_->before;
  for (std::size_t i = 0; i < calls; ++i) {
    const bool dropped = crash == Crash::machine_drops_names && is_name(all[i].kind) && !lasts(i);
    if (!dropped) tree.apply(all[i]);
  }
  tree.write_to(to, crash == Crash::process);
}

namespace {

template <class Function>
Function next_one(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Does `work` as a recorded call on `path`, or lets it fail.
template <class Work>
int recorded(Call call, const Work& work) {
  auto* r = recorder;
  const std::lock_guard<std::mutex> lock(r->mutex);
  if (r->fails()) return -1;
  const int result = work();
  if (result >= 0) r->calls.push_back(std::move(call));
  return result;
}

std::string recorded_path(const char* path) { return recorder == nullptr ? "" : recorder->below_root(path); }

std::string path_of(int descriptor) {
  if (recorder == nullptr) return "";
  const std::lock_guard<std::mutex> lock(recorder->mutex);
  const auto found = recorder->open.find(descriptor);
  return found == recorder->open.end() ? "" : found->second;
}

std::string path_at(int folder, const char* path) {
  if (path[0] == '/' || folder == AT_FDCWD) return recorded_path(path);
  const std::string base = path_of(folder);
  if (base.empty()) return "";
  return base == "." ? path : base + "/" + path;
}

int opened(const std::string& path, int flags, const std::function<int()>& work) {
  if (path.empty()) {
    const int descriptor = work();
    if (recorder == nullptr || descriptor < 0) return descriptor;
    const std::lock_guard<std::mutex> lock(recorder->mutex);
    recorder->open.erase(descriptor);  // some are closed by calls that are not seen
    return descriptor;
  }
  const bool creates = (flags & O_CREAT) != 0;
  const int descriptor = creates ? recorded({Call::Kind::create, path, "", ""}, work) : work();
  if (descriptor >= 0) {
    const std::lock_guard<std::mutex> lock(recorder->mutex);
    recorder->open[descriptor] = path;
  }
  return descriptor;
}

}  // namespace
}  // namespace troika::checkpoint::testing_support

// In place of the C library's: the program's own functions come first.
using namespace troika::checkpoint::testing_support;  // NOLINT

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, int));
  va_end(arguments);
  static const auto real = next_one<int (*)(const char*, int, ...)>("open");
  return opened(recorded_path(path), flags, [&] { return real(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, int));
  va_end(arguments);
  static const auto real = next_one<int (*)(int, const char*, int, ...)>("openat");
  return opened(path_at(folder, path), flags, [&] { return real(folder, path, flags, mode); });
}

int close(int descriptor) {
  static const auto real = next_one<int (*)(int)>("close");
  if (recorder != nullptr) {
    const std::lock_guard<std::mutex> lock(recorder->mutex);
    recorder->open.erase(descriptor);
  }
  return real(descriptor);
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static const auto real = next_one<ssize_t (*)(int, const void*, size_t)>("write");
  const std::string path = path_of(descriptor);
  if (path.empty()) return real(descriptor, data, bytes);
  const std::lock_guard<std::mutex> lock(recorder->mutex);
  if (recorder->fails()) return -1;
  const ssize_t done = real(descriptor, data, recorder->writes_short() ? (bytes + 1) / 2 : bytes);
  if (done > 0)
    recorder->calls.push_back(
        {Call::Kind::write, path, "", std::string(static_cast<const char*>(data), static_cast<size_t>(done))});
  return done;
}

int fsync(int descriptor) {
  static const auto real = next_one<int (*)(int)>("fsync");
  const std::string path = path_of(descriptor);
  if (path.empty()) return real(descriptor);
  return recorded({Call::Kind::sync, path, "", ""}, [&] { return real(descriptor); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = next_one<int (*)(const char*, mode_t)>("mkdir");
  const std::string below = recorded_path(path);
  if (below.empty()) return real(path, mode);
  return recorded({Call::Kind::make_folder, below, "", ""}, [&] { return real(path, mode); });
}

int unlink(const char* path) noexcept {
  static const auto real = next_one<int (*)(const char*)>("unlink");
  const std::string below = recorded_path(path);
  if (below.empty()) return real(path);
  return recorded({Call::Kind::remove, below, "", ""}, [&] { return real(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static const auto real = next_one<int (*)(int, const char*, int)>("unlinkat");
  const std::string below = path_at(folder, path);
  if (below.empty()) return real(folder, path, flags);
  return recorded({Call::Kind::remove, below, "", ""}, [&] { return real(folder, path, flags); });
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next_one<int (*)(const char*, const char*)>("rename");
  const std::string below = recorded_path(from);
  if (below.empty()) return real(from, to);
  return recorded({Call::Kind::rename, below, recorded_path(to), ""}, [&] { return real(from, to); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static const auto real = next_one<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  const std::string below = recorded_path(from);
  const auto work = [&] { return real(from_folder, from, to_folder, to, flags); };
  if (below.empty()) return work();
  return recorded({Call::Kind::exchange, below, recorded_path(to), ""}, work);
}
}
