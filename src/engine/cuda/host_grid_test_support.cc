#include "cuda/host_grid_test_support.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace troika::cuda {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr std::size_t slack_bytes = 4096;  // behind shared memory, for faulty kernels

// The thread sanitizer wants to know which stack runs.
class WatchedStack {
 public:
#ifdef __SANITIZE_THREAD__
  WatchedStack() : stack_(__tsan_create_fiber(0)), is_mine_(true) {}
  ~WatchedStack() {
    if (is_mine_) __tsan_destroy_fiber(stack_);
  }
  static WatchedStack current() { return WatchedStack(__tsan_get_current_fiber()); }
  void enter() const { __tsan_switch_to_fiber(stack_, 0); }
  WatchedStack(WatchedStack&& other) noexcept : stack_(other.stack_), is_mine_(std::exchange(other.is_mine_, false)) {}

 private:
  explicit WatchedStack(void* stack) : stack_(stack), is_mine_(false) {}
  void* stack_;
  bool is_mine_;
#else
  static WatchedStack current() { return {}; }
  void enter() const {}
#endif
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || (defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE > 0)
inline constexpr bool by_jumps = false;
#else
inline constexpr bool by_jumps = true;  // swapcontext() asks the kernel twice
#endif

// A stack, or the driver's, as it was left.
struct Place {
  ucontext_t context;
  jmp_buf jump;
  bool was_left = false;
};

__attribute__((noinline)) void change(Place& from, Place& to) {
  if (!by_jumps) {
    swapcontext(&from.context, &to.context);
    return;
  }
  from.was_left = true;
  if (_setjmp(from.jump) != 0) return;
  if (to.was_left) _longjmp(to.jump, 1);
  setcontext(&to.context);
}

// For blocks of up to max_threads, one after the other. Sanitizers know of what was on a stack, so each block has its own there.
std::shared_ptr<char[]> new_stacks() {
  const auto make = [] { return std::shared_ptr<char[]>(new char[stack_bytes * max_threads]); };
  if (!by_jumps) return make();
  thread_local const std::shared_ptr<char[]> of_this_thread = make();
  return of_this_thread;
}

}  // namespace

class FiberBlock {
 public:
  using Body = std::function<void(const HostBlock& block, void* shared)>;

  FiberBlock(int threads, std::size_t shared_bytes, std::uint64_t seed, const Fault& fault, const Body& body)
      : fault_(fault),
        body_(body),
        draw_(seed),
        fibers_(static_cast<std::size_t>(threads)),
        shared_((shared_bytes + slack_bytes) / sizeof(std::max_align_t) + 1) {
    for (std::size_t t = 0; t < fibers_.size(); ++t) make(t);
  }

  void run(std::int64_t index) {
    index_ = index;
    std::memset(shared_.data(), 0xff, shared_.size() * sizeof(std::max_align_t));
    for (std::size_t t = 0; t < fibers_.size(); ++t) start(t);
    while (run_all_that_can()) pass_barriers();
  }

  std::int64_t index() const { return index_; }
  const Fault& fault() const { return fault_; }
  int most_barriers() const { return most_barriers_; }

  void barrier() {
    Fiber& fiber = fibers_[current_];
    most_barriers_ = std::max(most_barriers_, fiber.barriers + 1);
    if (fiber.barriers++ != fault_.skipped_barrier) yield(Waits::at_barrier);
  }

  void exchange(void* x, std::size_t bytes, int mask) {
    // Two places by turns: a lane may write for the next exchange while others still read of this one.
    const std::size_t place = fibers_[current_].exchanges++ % 2;
    std::memcpy(fibers_[current_].lane[place].data(), x, bytes);
    yield(Waits::in_warp);
    std::memcpy(x, fibers_[current_ ^ static_cast<std::size_t>(mask)].lane[place].data(), bytes);
  }

 private:
  enum class Waits { no, at_barrier, in_warp, ended };
  struct Fiber {
    Place place;
    WatchedStack watched;
    Waits waits = Waits::ended;
    int barriers = 0;
    std::size_t exchanges = 0;
    std::array<std::array<char, 8>, 2> lane{};
  };

  static void enter(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<FiberBlock*>(static_cast<std::uintptr_t>(high) << 32 | low);
    for (;;) {  // once for every block
      try {
        self->body_(HostBlock(*self, static_cast<int>(self->current_)), self->shared_.data());
      } catch (...) {
        self->error_ = std::current_exception();
      }
      self->yield(Waits::ended);
    }
  }

  void make(std::size_t t) {
    Fiber& fiber = fibers_[t];
    ucontext_t& context = fiber.place.context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_.get() + t * stack_bytes;
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&FiberBlock::enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  }

  void start(std::size_t t) {
    fibers_[t].waits = Waits::no;
    fibers_[t].barriers = 0;
    fibers_[t].exchanges = 0;
  }

  void yield(Waits waits) {
    Fiber& fiber = fibers_[current_];
    fiber.waits = waits;
    driver_.enter();
    change(fiber.place, driver_place_);
  }

  // Warp after warp, each as far as it comes: what one writes too early the others read. False when all threads have
  // ended.
  bool run_all_that_can() {
    std::vector<std::size_t> warps(fibers_.size() / warp);
    std::iota(warps.begin(), warps.end(), 0);
    std::shuffle(warps.begin(), warps.end(), draw_);
    for (const std::size_t w : warps) run_warp(w * warp);
    return std::any_of(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.waits != Waits::ended; });
  }

  void run_warp(std::size_t first) {
    std::array<std::size_t, warp> threads;
    std::iota(threads.begin(), threads.end(), first);
    const auto all = [&](Waits waits) {
      return std::all_of(threads.begin(), threads.end(), [&](std::size_t t) { return fibers_[t].waits == waits; });
    };
    do {
      for (const std::size_t t : threads) {
        if (fibers_[t].waits == Waits::in_warp) fibers_[t].waits = Waits::no;
      }
      std::shuffle(threads.begin(), threads.end(), draw_);
      for (const std::size_t t : threads) {
        if (fibers_[t].waits == Waits::no) run_thread(t);
      }
    } while (all(Waits::in_warp));
  }

  void run_thread(std::size_t t) {
    current_ = t;
    fibers_[t].watched.enter();
    change(driver_place_, fibers_[t].place);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void pass_barriers() {
    const auto waiting = std::count_if(fibers_.begin(), fibers_.end(),
                                       [](const Fiber& fiber) { return fiber.waits == Waits::at_barrier; });
    if (static_cast<std::size_t>(waiting) != fibers_.size()) {
      throw base::BugError(fmt::format("{} of {} threads of block {} wait at a barrier that the others do not reach",
                                       waiting, fibers_.size(), index_));
    }
    for (Fiber& fiber : fibers_) fiber.waits = Waits::no;
  }

  const std::shared_ptr<char[]> stacks_ = new_stacks();
  const Fault fault_;
  const Body& body_;
  std::mt19937_64 draw_;
  std::vector<Fiber> fibers_;
  std::vector<std::max_align_t> shared_;
  Place driver_place_;
  WatchedStack driver_{WatchedStack::current()};
  std::size_t current_ = 0;
  std::int64_t index_ = 0;
  int most_barriers_ = 0;
  std::exception_ptr error_;
};

std::int64_t HostBlock::index() const { return fibers_->index(); }
int HostBlock::thread() const { return thread_ + fibers_->fault().thread_offset; }
void HostBlock::barrier() const { fibers_->barrier(); }
void HostBlock::exchange(void* x, std::size_t bytes, int mask) const { fibers_->exchange(x, bytes, mask); }

std::vector<std::int64_t> all_blocks(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int run_blocks(std::vector<std::int64_t> blocks, int threads, std::size_t shared_bytes, std::uint64_t seed, const Fault& fault,
               const std::function<void(const HostBlock& block, void* shared)>& body) {
  FiberBlock block(threads, shared_bytes, seed, fault, body);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed + 1));
  for (const std::int64_t index : blocks) block.run(index);
  return block.most_barriers();
}

}  // namespace troika::cuda
