#include "doctor/measure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "host/cores.h"
#include "host/nvidia.h"
#include "host/thread_limit.h"

namespace troika::doctor {
namespace {

// A file of the doctor's own, gone with this object.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : path_(folder + "/.troika-doctor-XXXXXX") {
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
  }
  ~ScratchFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int descriptor() const { return descriptor_; }  // -1: it could not be made

 private:
  std::string path_;
  int descriptor_;
};

// The bytes of the last cache level, of one core; "32768K".
std::int64_t last_cache_bytes(const HostView& view) {
  std::int64_t largest = 0;
  for (const std::string& index : entries_named(view.sys + "/devices/system/cpu/cpu0/cache", "index")) {
    std::int64_t bytes = 0;
    if (base::parse_bytes(word_in(index + "/size"), &bytes)) largest = std::max(largest, bytes);
  }
  return largest > 0 ? largest : std::int64_t{32} << 20;
}

std::int64_t stream_bytes(const HostView& view) {
  constexpr std::int64_t least = std::int64_t{48} << 20, most = std::int64_t{768} << 20;
  const auto available = static_cast<std::int64_t>(host::read_vitals("", view.proc, view.sys).available_bytes);
  std::int64_t bytes = std::clamp(4 * last_cache_bytes(view), least, most);
  if (available > 0) bytes = std::min(bytes, available / 8);
  return bytes;
}

double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Bytes per second that the thread works, of one thread's part.
double stream(std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c, double seconds) {
  const double until = base::monotonic_seconds() + seconds, begin = thread_seconds();
  std::size_t passes = 0;
  do {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + 3 * c[i];
    ++passes;
  } while (base::monotonic_seconds() < until);
  return static_cast<double>(passes * a.size() * 3 * sizeof(double)) / (thread_seconds() - begin);
}

void compute_until(const std::atomic<bool>& done) {
  volatile double sink = 0;
  double x = 1.5;
  while (!done) {
    for (int i = 0; i < 100000; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
    x = 1.5 + 0 * sink;
  }
}

// While all cores work; the last look is the one that counts, as the clock falls with the heat.
host::Vitals vitals_under_load(const HostView& view, double seconds) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  host::require_threads(view.cores);
  for (int i = 0; i < view.cores; ++i) threads.emplace_back(compute_until, std::cref(done));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  host::Vitals vitals = host::read_vitals("", view.proc, view.sys);
  done = true;
  for (std::thread& thread : threads) thread.join();
  return vitals;
}

std::map<std::string, std::int64_t> carrier_changes(const HostView& view) {
  std::map<std::string, std::int64_t> changes;
  for (const Interface& one : view.interfaces)
    if (const auto count = number_in(view.sys + "/class/net/" + one.name + "/carrier_changes"))
      changes[one.name] = *count;
  return changes;
}

}  // namespace

double memory_bandwidth(const HostView& view, int threads, double seconds) {
  const auto each =
      static_cast<std::size_t>(stream_bytes(view)) / (3 * sizeof(double)) / static_cast<std::size_t>(threads);
  std::vector<double> rates(static_cast<std::size_t>(threads) * 3);
  std::vector<std::thread> workers;
  host::require_threads(threads);
  for (int thread = 0; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      std::vector<double> a(each, 0.0), b(each, 1.0), c(each, 2.0);
      for (std::size_t turn = 0; turn < 3; ++turn)
        rates[static_cast<std::size_t>(thread) * 3 + turn] = stream(a, b, c, seconds / 3);
    });
  for (std::thread& worker : workers) worker.join();
  double best = 0;
  for (std::size_t turn = 0; turn < 3; ++turn) {
    double sum = 0;
    for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) sum += rates[thread * 3 + turn];
    best = std::max(best, sum);
  }
  return best * std::min(1.0, quota_cores(view).value_or(threads) / threads);
}

double sync_seconds(const std::string& folder, int count) {
  const ScratchFile file(folder);
  if (file.descriptor() < 0) return -1;
  const std::string block(4096, 'x');
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const double begin = base::monotonic_seconds();
    if (::write(file.descriptor(), block.data(), block.size()) != static_cast<ssize_t>(block.size())) return -1;
    if (::fdatasync(file.descriptor()) != 0) return -1;
    times.push_back(base::monotonic_seconds() - begin);
    if (times.back() > 1) break;  // so slow a disk needs no second look
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

bool space_is_granted(const std::string& folder, std::int64_t bytes) {
  const ScratchFile file(folder);
  if (file.descriptor() < 0 || ::fallocate(file.descriptor(), 0, 0, bytes) == 0) return true;
  return errno != ENOSPC && errno != EDQUOT && errno != EFBIG;
}

Measured measure(const HostView& view, const Pace& pace) {
  Measured measured;
  measured.before = host::read_vitals("", view.proc, view.sys);
  const auto changes_before = carrier_changes(view);
  if (view.disk && view.disk->writable) {
    measured.sync_seconds = sync_seconds(view.disk->folder, pace.syncs);
    constexpr std::int64_t some_bytes = std::int64_t{16} << 20;
    const std::int64_t bytes = view.want.disk_bytes > 0 ? view.want.disk_bytes : some_bytes;
    if (bytes <= view.disk->free_bytes) measured.space_is_granted = space_is_granted(view.disk->folder, bytes);
  }
  if (view.open_gpus && host::nvidia_driver(view.proc, view.dev) == host::NvidiaDriver::loaded) measured.gpus = view.open_gpus();
  const int threads = std::min(view.cores, 256);
  measured.memory_bytes_per_second = memory_bandwidth(view, threads, pace.stream_seconds);
  measured.loaded = vitals_under_load(view, pace.load_seconds);
  measured.after = host::read_vitals("", view.proc, view.sys);
  for (const auto& [name, count] : carrier_changes(view))
    if (const auto before = changes_before.find(name); before != changes_before.end())
      measured.carrier_changes[name] = count - before->second;
  return measured;
}

}  // namespace troika::doctor
