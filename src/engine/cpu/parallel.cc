#include "cpu/parallel.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace troika::cpu {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4);

void sleep_while(Word& word, std::uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(Word& word) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks until `changed`, for a time that the next call of a step usually comes within; whether it did.
template <class Changed>
bool look(const Changed& changed) {
  constexpr auto patience = std::chrono::microseconds(30);
  const auto until = std::chrono::steady_clock::now() + patience;
  do {
    for (int i = 0; i < 32; ++i) {
      if (changed()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

// Threads of OpenMP that oneDNN would start in a thread that is one of several already.
void tell_libraries_to_be_alone() {
#ifdef TROIKA_WITH_OPENMP
  omp_set_num_threads(1);
#endif
}

// One call: who takes a piece increments `next`.
struct Job {
  Job(std::int64_t pieces, const std::function<void(std::int64_t)>& work_of) : count(pieces), body(work_of) {}

  const std::int64_t count;
  const std::function<void(std::int64_t)>& body;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;

  void work() {
    for (std::int64_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure == nullptr) failure = std::current_exception();
      }
    }
  }
};

thread_local bool inside_a_body = false;

class Inside {
 public:
  Inside() : before_(inside_a_body) { inside_a_body = true; }
  ~Inside() { inside_a_body = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const bool before_;
};

// The workers of one calling thread. `round_` is odd while there is a job, and `joined_` counts the workers that may read it: a
// worker counts itself and then looks whether the round is still open; the caller closes the round and then waits for a count of 0.
class Team {
 public:
  ~Team() { resize(1); }

  void resize(int threads) {
    stop();
    wanted_ = threads;
  }
  int size() const { return wanted_; }

  void run(Job& job) {
    start();
    job_ = &job;
    ++round_;
    if (sleeping_ > 0) wake(round_);
    {
      const Inside inside;
      job.work();
    }
    ++round_;
    const auto all_left = [&] { return joined_ == 0; };
    if (look(all_left)) return;
    awaited_ = true;
    for (std::uint32_t left = joined_; left != 0; left = joined_) sleep_while(joined_, left);
    awaited_ = false;
  }

 private:
  void start() {
    const auto wanted = static_cast<std::size_t>(wanted_ - 1);
    if (workers_.size() >= wanted || refused_) return;
    try {
      while (workers_.size() < wanted) workers_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      refused_ = true;
    }
  }

  void stop() {
    ended_ = true;
    round_ += 2;
    wake(round_);
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    ended_ = refused_ = false;
  }

  void serve() {
    tell_libraries_to_be_alone();
    inside_a_body = true;
    std::uint32_t seen = 0;
    while (!ended_) {
      const std::uint32_t round = round_;
      if (round % 2 == 1 && round != seen) {
        seen = round;
        ++joined_;
        if (round_ == round) job_.load()->work();
        if (--joined_ == 0 && awaited_) wake(joined_);
        continue;
      }
      const auto changed = [&] { return round_ != round; };
      if (look(changed)) continue;
      ++sleeping_;
      if (!ended_) sleep_while(round_, round);
      --sleeping_;
    }
  }

  int wanted_ = 1;
  bool refused_ = false;
  std::vector<std::thread> workers_;
  std::atomic<Job*> job_{nullptr};
  Word round_{0}, joined_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> awaited_{false}, ended_{false};
};

Team& team() {
  static thread_local Team of_this_thread;
  return of_this_thread;
}

}  // namespace

void set_threads(int threads) {
  tell_libraries_to_be_alone();
  if (threads != team().size()) team().resize(std::max(1, threads));
}

int threads() { return inside_a_body ? 1 : team().size(); }

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  if (count <= 0) return;
  Job job(count, body);
  if (count == 1 || threads() == 1) {
    const Inside inside;
    job.work();
  } else {
    team().run(job);
  }
  if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

void parallel_pieces(std::int64_t total, std::int64_t piece,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  parallel_for((total + piece - 1) / piece,
               [&](std::int64_t i) { body(i * piece, std::min(i * piece + piece, total)); });
}

namespace {

struct alignas(64) Stream {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;
};

}  // namespace

void parallel_streams(std::int64_t total, std::int64_t piece,
                      const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  const std::int64_t pieces = (total + piece - 1) / piece, count = std::min<std::int64_t>(threads(), pieces);
  if (count <= 1) return parallel_pieces(total, piece, body);
  std::vector<Stream> streams(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    Stream& stream = streams[static_cast<std::size_t>(i)];
    stream.next = pieces * i / count;
    stream.end = pieces * (i + 1) / count;
  }
  parallel_for(count, [&](std::int64_t first) {
    for (std::int64_t turn = 0; turn < count; ++turn) {
      Stream& stream = streams[static_cast<std::size_t>((first + turn) % count)];
      for (std::int64_t i = stream.next++; i < stream.end; i = stream.next++)
        body(i * piece, std::min(i * piece + piece, total));
    }
  });
}

}  // namespace troika::cpu
