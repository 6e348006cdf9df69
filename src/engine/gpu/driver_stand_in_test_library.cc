// Stands in for NVIDIA's driver (libcuda.so.1): devices over host memory that are as late as GPUs may be.
//
// Work is done in each stream in the order in which it was asked for, between streams in a drawn order, and only when somebody asks
// for an event or waits. Device memory is closed to the host but while work is done, so reading it ends the process; what is
// released is filled with poison when its stream comes to it. Every call that CUDA gives a context to fails where the thread's is
// another device's; a kernel that touches another device's memory ends the process.
//
// TROIKA_STAND_IN_DEVICES (2), TROIKA_STAND_IN_BYTES (4 GiB each), TROIKA_STAND_IN_OTHERS_BYTES (0: what another process takes of
// them after this one has asked what is free), TROIKA_STAND_IN_CAPABILITY (90), TROIKA_STAND_IN_DRIVER (13000),
// TROIKA_STAND_IN_EXIT_SECONDS (0): how long it holds up the end of the process.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/driver.h"
#include "gpu/host_kernels_test_support.h"
#include "tensor/fake_lane_test_support.h"

namespace {
using troika::gpu::DeviceAttribute;
using troika::gpu::DevicePointer;
using troika::gpu::PoolAttribute;
using troika::gpu::Result;
using troika::tensor::FakeLane;
using troika::tensor::FakeWork;

constexpr auto invalid_value = static_cast<Result>(1), not_initialized = static_cast<Result>(3), no_context = static_cast<Result>(201),
               not_found = static_cast<Result>(500);
constexpr std::uint64_t region_bytes = std::uint64_t{1} << 34, unit = 512;

std::int64_t number_of(const char* variable, std::int64_t usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : std::atoll(text);
}

struct Context {
  int device;
};
thread_local Context* current = nullptr;

class Function final : public FakeWork {
 public:
  // `can_move`: of one that only waits.
  explicit Function(std::function<bool()> body, std::function<bool()> can_move = {})
      : body_(std::move(body)), can_move_(std::move(can_move)) {}
  bool try_to_do() override { return body_(); }
  bool can_move() override { return !can_move_ || can_move_(); }

 private:
  std::function<bool()> body_, can_move_;
};

class Stream;

// A mutex that threads get in the order in which they asked: one that polls would keep it from the others.
class InTurn {
 public:
  void lock() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t turn = asked_++;
    next_.wait(lock, [&] { return turn == served_; });
  }
  void unlock() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++served_;
    next_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable next_;
  std::uint64_t asked_ = 0, served_ = 0;
};

// All devices of the process.
class Machine {
 public:
  static Machine& one() {
    static Machine* const machine = new Machine;
    return *machine;
  }

  InTurn mutex;  // guards everything
  std::vector<Stream*> streams;
  std::vector<std::unique_ptr<Context>> contexts;
  std::map<void*, std::size_t> pinned;
  Result failure = Result::success;  // of earlier work; sticky
  std::uint64_t launches = 0;
  std::int64_t waits = 0;  // the host's for the device: questions for an event, and copies that return when they are done
  std::int64_t done = 0;  // milliseconds of the device's time: one for a kernel or copy, others as libraries' work says

  int device_of(std::uint64_t address) const {
    for (std::size_t i = 0; i < regions_.size(); ++i)
      if (address >= regions_[i].begin && address < regions_[i].begin + region_bytes) return static_cast<int>(i);
    return -1;
  }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used(int device) const { return regions_[static_cast<std::size_t>(device)].used; }
  std::uint64_t peak(int device) const { return regions_[static_cast<std::size_t>(device)].peak; }

  void begin_peak(int device) {
    Region& region = regions_[static_cast<std::size_t>(device)];
    region.peak = region.used;
  }

  std::uint64_t allocate(int device, std::size_t bytes) {
    Region& region = regions_[static_cast<std::size_t>(device)];
    const std::uint64_t taken = (bytes + unit - 1) / unit * unit;
    if (region.used + taken > capacity_ - others_) return 0;
    const auto fits = std::find_if(region.free.begin(), region.free.end(), [&](const auto& hole) { return hole.second >= taken; });
    if (fits == region.free.end()) return 0;
    const auto [address, size] = *fits;
    region.free.erase(fits);
    if (size > taken) region.free[address + taken] = size - taken;
    region.taken[address] = taken;
    region.used += taken;
    region.peak = std::max(region.peak, region.used);
    return address;
  }
  // Later requests of the stream have room from here on; the memory itself is used again when the stream has come so far.
  void begin_release(std::uint64_t address) {
    Region& region = regions_[static_cast<std::size_t>(device_of(address))];
    region.used -= region.taken.at(address);
  }
  void release(std::uint64_t address) {  // memory is open
    Region& region = regions_[static_cast<std::size_t>(device_of(address))];
    const auto block = region.taken.find(address);
    spoil(address, block->second);
    auto hole = region.free.emplace(address, block->second).first;
    region.taken.erase(block);
    if (const auto next = std::next(hole); next != region.free.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      region.free.erase(next);
    }
    if (hole != region.free.begin()) {
      const auto before = std::prev(hole);
      if (before->first + before->second == hole->first) {
        before->second += hole->second;
        region.free.erase(hole);
      }
    }
  }
  // Work of drawn streams, until that is so or none can be done, or for so many pieces.
  void work(const std::function<bool()>& until, int pieces) {
    while (!until() && pieces-- > 0 && step()) {
    }
    open_for(nobody);
  }

 private:
  static constexpr int nobody = -1, all_devices = -2;
  bool step();
  // Whose memory the host can reach from now on.
  void open_for(int whom) {
    if (std::exchange(open_, whom) == whom) return;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const bool opens = (whom == all_devices && !regions_[i].taken.empty()) || whom == static_cast<int>(i);
      if (std::exchange(regions_[i].open, opens) == opens) continue;
      ::mprotect(reinterpret_cast<void*>(regions_[i].begin), region_bytes, opens ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
  }
  // Spoils only both ends of a large block: the pages between go back to the system, as opening and closing memory
  // takes a time for each.
  static void spoil(std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t page = 4096, large = 64 * page;
    const std::uint64_t begin = (address + 2 * page - 1) / page * page, end = (address + bytes) / page * page - page;
    const bool drops = bytes >= large && ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0;
    const std::uint64_t first = drops ? begin - address : bytes;
    std::memset(reinterpret_cast<void*>(address), troika::tensor::poison, first);
    if (drops) std::memset(reinterpret_cast<void*>(end), troika::tensor::poison, address + bytes - end);
  }
  struct Region {
    std::uint64_t begin = 0, used = 0, peak = 0;
    bool open = false;
    std::map<std::uint64_t, std::uint64_t> free, taken;
  };
  Machine()
      : capacity_(static_cast<std::uint64_t>(number_of("TROIKA_STAND_IN_BYTES", std::int64_t{4} << 30))),
        regions_(static_cast<std::size_t>(number_of("TROIKA_STAND_IN_DEVICES", 2))) {
    for (Region& region : regions_) {
      // Where the system puts nothing by itself: what lies unused in a kernel's argument then never looks like a pointer into
      // here.
      void* const apart = reinterpret_cast<void*>((std::uint64_t{0x200} << 36) + (contexts.size() << 36));
      region.begin = reinterpret_cast<std::uint64_t>(
          ::mmap(apart, region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      region.free[region.begin] = region_bytes;
      contexts.push_back(std::make_unique<Context>(Context{static_cast<int>(contexts.size())}));
    }
  }
  const std::uint64_t capacity_, others_ = static_cast<std::uint64_t>(number_of("TROIKA_STAND_IN_OTHERS_BYTES", 0));
  std::vector<Region> regions_;
  int open_ = nobody;
  std::mt19937_64 drawn_{11};
};

// The stream that libraries know is a FakeLane.
class Stream final : public FakeLane {
 public:
  explicit Stream(int of) : device_(of) {}
  int number() const { return device_; }
  const void* device() const override { return Machine::one().contexts[static_cast<std::size_t>(device_)].get(); }
  bool ordered() override { return true; }
  bool open_to_host() override { return false; }
  // For libraries, which may pass bytes between devices.
  void push(std::unique_ptr<FakeWork> work) override {
    const std::lock_guard<InTurn> lock(Machine::one().mutex);
    add({std::move(work), true});
  }
  struct Queued {
    std::unique_ptr<FakeWork> work;
    bool of_library = false;
  };
  void add(Queued queued) {
    waiting.push_back(std::move(queued));
    ++asked;
  }
  std::deque<Queued> waiting;
  std::int64_t asked = 0, done = 0;

 private:
  const int device_;
};

bool Machine::step() {
  const std::size_t count = streams.size(), first = count == 0 ? 0 : drawn_() % count;
  for (std::size_t i = 0; i < count; ++i) {
    Stream& stream = *streams[(first + i) % count];
    if (stream.waiting.empty() || !stream.waiting.front().work->can_move()) continue;
    open_for(stream.waiting.front().of_library ? all_devices : stream.number());
    if (!stream.waiting.front().work->try_to_do()) continue;
    done += stream.waiting.front().work->milliseconds();
    stream.waiting.pop_front();
    ++stream.done;
    return true;
  }
  return false;
}

struct Event {
  Stream* stream = nullptr;
  std::int64_t position = 0;
  int device = 0;
  std::shared_ptr<std::int64_t> time;  // of a timed one, when it is reached
  bool reached() const { return stream == nullptr || stream->done >= position; }
};

Stream* stream_of(troika::gpu::StreamHandle* handle) {
  return static_cast<Stream*>(reinterpret_cast<FakeLane*>(handle));
}

// The check that begins every call that works on a stream.
Result check(const Stream* stream) {
  if (current == nullptr || stream == nullptr || stream->number() != current->device) return no_context;
  return Machine::one().failure;
}

Result queue(Stream* stream, std::function<bool()> body, std::function<bool()> can_move = {}) {
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  if (const Result wrong = check(stream); wrong != Result::success) return wrong;
  stream->add({std::make_unique<Function>(std::move(body), std::move(can_move))});
  return Result::success;
}

}  // namespace

extern "C" {

Result cuInit(unsigned) { return Machine::one().contexts.empty() ? static_cast<Result>(100) : Result::success; }
Result cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number_of("TROIKA_STAND_IN_DRIVER", 13000));
  return Result::success;
}
Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Machine::one().contexts.size());
  return Result::success;
}
Result cuDeviceGet(int* device, int number) {
  *device = number;
  return Result::success;
}
Result cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "Stand-in GPU", static_cast<std::size_t>(bytes));
  return Result::success;
}
Result cuDeviceGetAttribute(int* value, DeviceAttribute which, int) {
  const auto capability = static_cast<int>(number_of("TROIKA_STAND_IN_CAPABILITY", 90));
  *value = which == DeviceAttribute::capability_major   ? capability / 10
           : which == DeviceAttribute::capability_minor ? capability % 10
           : which == DeviceAttribute::multiprocessors  ? 4
                                                        : 1;
  return Result::success;
}
Result cuDevicePrimaryCtxRetain(Context** context, int device) {
  *context = Machine::one().contexts.at(static_cast<std::size_t>(device)).get();
  return Result::success;
}
Result cuCtxSetCurrent(Context* context) {
  current = context;
  return Result::success;
}
Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current == nullptr) return no_context;
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  *total = machine.capacity();
  *free = *total - machine.used(current->device);
  return Result::success;
}
Result cuDeviceGetDefaultMemPool(Context** pool, int device) { return cuDevicePrimaryCtxRetain(pool, device); }
Result cuMemPoolSetAttribute(Context* pool, PoolAttribute attribute, void* value) {
  if (attribute == PoolAttribute::release_threshold) return Result::success;
  const std::lock_guard<InTurn> lock(Machine::one().mutex);
  if (*static_cast<std::uint64_t*>(value) != 0) return invalid_value;
  Machine::one().begin_peak(pool->device);
  return Result::success;
}
Result cuMemPoolGetAttribute(Context* pool, PoolAttribute attribute, void* value) {
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  const bool peak = attribute == PoolAttribute::reserved_peak || attribute == PoolAttribute::used_peak;
  *static_cast<std::uint64_t*>(value) = peak ? machine.peak(pool->device) : machine.used(pool->device);
  return Result::success;
}
Result cuMemPoolTrimTo(Context*, std::size_t) { return Result::success; }

Result cuMemAllocFromPoolAsync(DevicePointer* to, std::size_t bytes, Context* pool, troika::gpu::StreamHandle* handle) {
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  if (const Result wrong = check(stream_of(handle)); wrong != Result::success) return wrong;
  *to = machine.allocate(pool->device, bytes);
  return *to == 0 ? Result::out_of_memory : Result::success;
}
Result cuMemFreeAsync(DevicePointer pointer, troika::gpu::StreamHandle* handle) {
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  if (const Result wrong = check(stream_of(handle)); wrong != Result::success) return wrong;
  machine.begin_release(pointer);
  stream_of(handle)->add({std::make_unique<Function>([pointer] {
    Machine::one().release(pointer);
    return true;
  })});
  return Result::success;
}
Result cuMemHostAlloc(void** to, std::size_t bytes, unsigned) {
  if (current == nullptr) return no_context;
  *to = std::aligned_alloc(4096, bytes);
  const std::lock_guard<InTurn> lock(Machine::one().mutex);
  Machine::one().pinned[*to] = bytes;
  return Result::success;
}

Result cuMemcpyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, troika::gpu::StreamHandle* handle) {
  Machine& machine = Machine::one();
  Stream* const stream = stream_of(handle);
  const auto is_pinned = [&](DevicePointer address) {
    const std::lock_guard<InTurn> lock(machine.mutex);
    const auto above = machine.pinned.upper_bound(reinterpret_cast<void*>(address));
    if (above == machine.pinned.begin()) return false;
    const auto& [begin, size] = *std::prev(above);
    return address < reinterpret_cast<DevicePointer>(begin) + size;
  };
  const int owner_to = machine.device_of(to), owner_from = machine.device_of(from);
  if (current == nullptr || (owner_to >= 0 && owner_to != current->device) || (owner_from >= 0 && owner_from != current->device))
    return no_context;
  std::shared_ptr<std::vector<char>> staged;
  if (owner_from < 0 && !is_pinned(from)) {
    const auto* const read = reinterpret_cast<const char*>(from);
    staged = std::make_shared<std::vector<char>>(read, read + bytes);
  }
  const Result queued = queue(stream, [=] {
    ++Machine::one().done;
    std::memcpy(reinterpret_cast<void*>(to), staged ? staged->data() : reinterpret_cast<const void*>(from), bytes);
    return true;
  });
  if (queued != Result::success || owner_to >= 0 || is_pinned(to)) return queued;
  const std::int64_t position = stream->asked;
  ++machine.waits;
  for (;;) {  // into the host's ordinary memory: returns when it is done
    const std::lock_guard<InTurn> lock(machine.mutex);
    if (stream->done >= position) return machine.failure;
    machine.work([&] { return stream->done >= position; }, 1 << 12);
  }
}

Result cuModuleLoadDataEx(void** module, const void* image, unsigned, void*, void**) {
  *module = const_cast<void*>(image);
  return image == nullptr ? invalid_value : Result::success;
}
Result cuModuleGetFunction(std::string** function, void*, const char* name) {
  try {
    troika::gpu::argument_bytes(name);
  } catch (const troika::base::Error&) {
    return not_found;
  }
  *function = new std::string(name);  // as long as the process
  return Result::success;
}
Result cuLaunchKernel(std::string* function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned, unsigned, unsigned,
                      troika::gpu::StreamHandle* handle, void** arguments, void**) {
  const auto* const bytes = static_cast<const char*>(arguments[0]);
  const auto argument = std::make_shared<std::vector<char>>(bytes, bytes + troika::gpu::argument_bytes(*function));
  const std::uint64_t seed = ++Machine::one().launches;
  return queue(stream_of(handle), [=] {
    ++Machine::one().done;
    troika::gpu::run_kernel_on_host({function->c_str(), grid_x, static_cast<int>(block_x), argument->data()}, seed);
    return true;
  });
}

Result cuStreamCreate(void** stream, unsigned) {
  if (current == nullptr) return no_context;
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  machine.streams.push_back(new Stream(current->device));
  *stream = static_cast<FakeLane*>(machine.streams.back());
  return Result::success;
}
Result cuStreamDestroy_v2(troika::gpu::StreamHandle*) { return Result::success; }  // what is queued is still done
Result cuStreamWaitEvent(troika::gpu::StreamHandle* handle, Event* event, unsigned) {
  const Event at = *event;
  return queue(stream_of(handle), [] { return true; }, [at] { return at.reached(); });
}
Result cuEventCreate(Event** event, unsigned flags) {
  if (current == nullptr) return no_context;
  *event = new Event{nullptr, 0, current->device, nullptr};
  if ((flags & troika::gpu::event_without_time) == 0) (*event)->time = std::make_shared<std::int64_t>(0);
  return Result::success;
}
Result cuEventDestroy_v2(Event* event) {
  delete event;
  return Result::success;
}
Result cuEventRecord(Event* event, troika::gpu::StreamHandle* handle) {
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  Stream* const stream = stream_of(handle);
  if (event->device != stream->number()) return no_context;
  if (const Result wrong = check(stream); wrong != Result::success) return wrong;
  if (event->time != nullptr) {
    stream->add({std::make_unique<Function>([time = event->time] {
      *time = Machine::one().done;
      return true;
    })});
  }
  event->stream = stream;
  event->position = stream->asked;
  return Result::success;
}
Result cuEventQuery(Event* event) {
  Machine& machine = Machine::one();
  const std::lock_guard<InTurn> lock(machine.mutex);
  if (machine.failure != Result::success) return machine.failure;
  ++machine.waits;
  machine.work([&] { return event->reached(); }, 1 << 12);
  return event->reached() ? machine.failure : Result::not_ready;
}
Result cuEventElapsedTime(float* milliseconds, Event* begin, Event* end) {
  if (begin->time == nullptr || end->time == nullptr || !begin->reached() || !end->reached()) return invalid_value;
  *milliseconds = static_cast<float>(*end->time - *begin->time);
  return Result::success;
}
Result cuGetErrorName(Result result, const char** name) {
  static const std::map<int, const char*> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {100, "CUDA_ERROR_NO_DEVICE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"}, {500, "CUDA_ERROR_NOT_FOUND"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  const auto found = names.find(static_cast<int>(result));
  if (found == names.end()) return not_initialized;
  *name = found->second;
  return Result::success;
}
Result cuGetErrorString(Result, const char** text) {
  *text = "the stand-in says so";
  return Result::success;
}

__attribute__((destructor)) static void hold_up_the_end() {
  ::sleep(static_cast<unsigned>(number_of("TROIKA_STAND_IN_EXIT_SECONDS", 0)));
}

// For tests: everything that is queued from now on fails with this.
void troika_stand_in_fail(int result) { Machine::one().failure = static_cast<Result>(result); }
std::int64_t troika_stand_in_waits() { return Machine::one().waits; }

}  // extern "C"
