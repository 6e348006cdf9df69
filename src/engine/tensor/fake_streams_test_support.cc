#include "tensor/fake_streams_test_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::tensor {

// A lane's queue. Positions count what was ever put in: an event is the position that must be done.
struct FakeQueue {
  std::deque<std::unique_ptr<FakeWork>> waiting;
  std::int64_t asked_for = 0, done = 0;
};
using FakeQueuePtr = std::shared_ptr<FakeQueue>;

class FakeMachine {
 public:
  FakeMachine(std::uint64_t seed, double deadline_seconds) : drawn_(seed), deadline_seconds_(deadline_seconds) {}

  FakeQueuePtr new_queue() {
    const std::lock_guard<std::mutex> lock(mutex_);
    queues_.push_back(std::make_shared<FakeQueue>());
    return queues_.back();
  }

  // Returns the work's position. What lies in a lane that is gone is dropped.
  std::int64_t push(FakeQueue& queue, std::unique_ptr<FakeWork> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue.waiting.push_back(std::move(work));
    moved_.notify_all();
    return ++queue.asked_for;
  }

  void drop(const FakeQueuePtr& queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue->waiting.clear();
    queues_.erase(std::find(queues_.begin(), queues_.end(), queue));
  }

  std::int64_t asked_for(const FakeQueue& queue) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return queue.asked_for;
  }

  // As a host that polls: meanwhile the machine has done a little, or nothing.
  bool poll(const FakeQueue& queue, std::int64_t position) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto steps = drawn_() % 3; steps > 0 && queue.done < position; --steps) step();
    return queue.done >= position;
  }

  void stand(const FakeQueue& queue, std::int64_t position, const std::function<void()>& check) {
    const double until = base::monotonic_seconds() + deadline_seconds_;
    std::unique_lock<std::mutex> lock(mutex_);
    while (queue.done < position) {
      if (step()) continue;
      moved_.wait_for(lock, std::chrono::milliseconds(1));
      lock.unlock();
      if (check) check();
      if (base::monotonic_seconds() > until)
        throw base::BugError(fmt::format("the fake device stood still for {:g} s", deadline_seconds_));
      lock.lock();
    }
  }

 private:
  // Does one piece of work of a drawn lane; false when no lane can move.
  bool step() {
    const std::size_t count = queues_.size(), first = count == 0 ? 0 : drawn_() % count;
    for (std::size_t i = 0; i < count; ++i) {
      FakeQueue& queue = *queues_[(first + i) % count];
      if (queue.waiting.empty() || !queue.waiting.front()->try_to_do()) continue;
      queue.waiting.pop_front();
      ++queue.done;
      moved_.notify_all();
      return true;
    }
    return false;
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<FakeQueuePtr> queues_;
  std::mt19937_64 drawn_;
  const double deadline_seconds_;
};

namespace {

class TimedBody : public Event::Body {
 public:
  double seconds() const { return seconds_; }

 private:
  const double seconds_ = base::monotonic_seconds();
};

class FakeEvent final : public TimedBody {
 public:
  FakeEvent(std::shared_ptr<FakeMachine> machine, FakeQueuePtr queue, std::int64_t position)
      : machine_(std::move(machine)), queue_(std::move(queue)), position_(position) {}
  bool passed() override { return machine_->poll(*queue_, position_); }
  void stand(const std::function<void()>& check) { machine_->stand(*queue_, position_, check); }
  bool reached() const { return queue_->done >= position_; }  // under the machine's lock

 private:
  std::shared_ptr<FakeMachine> machine_;
  FakeQueuePtr queue_;
  std::int64_t position_;
};

// An event of the compute lane: it has passed when it is recorded. Its number orders events.
class ComputeEvent final : public TimedBody {
 public:
  explicit ComputeEvent(std::int64_t number) : number_(number) {}
  bool passed() override { return true; }
  std::int64_t number() const { return number_; }

 private:
  std::int64_t number_;
};

class FakeWait final : public FakeWork {
 public:
  explicit FakeWait(std::shared_ptr<Event::Body> event) : event_(std::move(event)) {}
  bool try_to_do() override { return static_cast<FakeEvent&>(*event_).reached(); }

 private:
  std::shared_ptr<Event::Body> event_;
};

// Works on memory, as a device does: whoever asks for it keeps the tensors.
class FakeCopy final : public FakeWork {
 public:
  FakeCopy(const Tensor& to, const Tensor& from, bool ordered)
      : to_(to.data()), from_(from.data()), bytes_(static_cast<std::size_t>(to.bytes())), ordered_(ordered) {
    if (bytes_ > 0) std::memset(to_, poison, bytes_);
  }
  bool try_to_do() override {
    if (ordered_ && bytes_ > 0) std::memcpy(to_, from_, bytes_);
    return true;
  }

 private:
  void* to_;
  const void* from_;
  std::size_t bytes_;
  bool ordered_;
};

class QueuedLane final : public FakeLane {
 public:
  QueuedLane(std::shared_ptr<FakeMachine> machine, const void* device)
      : machine_(std::move(machine)), device_(device), queue_(machine_->new_queue()) {}
  ~QueuedLane() override { machine_->drop(queue_); }

  const void* device() const override { return device_; }
  bool ordered() override { return ordered_; }
  bool open_to_host() override { return true; }
  void push(std::unique_ptr<FakeWork> work) override { machine_->push(*queue_, std::move(work)); }

  Event record() {
    ordered_ = false;
    return Event(std::make_shared<FakeEvent>(machine_, queue_, machine_->asked_for(*queue_)));
  }
  void wait(const Event& event) {
    if (const auto* compute = dynamic_cast<const ComputeEvent*>(event.body().get())) {
      ordered_ = compute->number() > behind_;
      behind_ = std::max(behind_, compute->number());
    } else if (event.body() != nullptr) {
      push(std::make_unique<FakeWait>(event.body()));
    }
  }

 private:
  std::shared_ptr<FakeMachine> machine_;
  const void* const device_;
  FakeQueuePtr queue_;
  std::int64_t behind_ = 0;  // the newest event of the compute lane that this one has waited for
  bool ordered_ = false;
};

class Fake final : public FakeStreams {
 public:
  explicit Fake(std::shared_ptr<FakeMachine> machine) : machine_(std::move(machine)) {
    new_lane();  // in_lane
    new_lane();  // out_lane
  }
  const Device& device() const override { return device_; }
  bool shares_host_memory() const override { return false; }
  Tensor new_host_tensor(const Sizes& sizes, Dtype dtype) override { return empty(sizes, dtype); }
  Lane new_lane() override {
    lanes_.push_back(std::make_unique<QueuedLane>(machine_, this));
    return Lane(static_cast<int>(lanes_.size()));
  }
  Event record(Lane lane, Timed) override {
    if (lane == compute_lane) return Event(std::make_shared<ComputeEvent>(++recorded_));
    return of(lane).record();
  }
  // By the host's clock when they were recorded.
  double seconds_between(const Event& begin, const Event& end) override {
    return static_cast<const TimedBody&>(*end.body()).seconds() - static_cast<const TimedBody&>(*begin.body()).seconds();
  }
  void wait(Lane lane, const Event& event) override {
    if (!(lane == compute_lane)) {
      of(lane).wait(event);
    } else if (auto* late = dynamic_cast<FakeEvent*>(event.body().get())) {
      late->stand(check_);
    }
  }
  void copy(Lane lane, const Tensor& to, const Tensor& from) override {
    if (to.bytes() != from.bytes()) {
      throw base::BugError(fmt::format("a copy of {} bytes to room for {}", from.bytes(), to.bytes()));
    }
    if (lane == compute_lane) {
      FakeCopy(to, from, true).try_to_do();
    } else {
      of(lane).push(std::make_unique<FakeCopy>(to, from, of(lane).ordered()));
    }
  }
  void* handle(Lane lane) override { return static_cast<FakeLane*>(&of(lane)); }
  void while_standing(std::function<void()> check) override { check_ = std::move(check); }

 private:
  QueuedLane& of(Lane lane) { return *lanes_.at(static_cast<std::size_t>(lane.number()) - 1); }

  const Device device_;
  std::shared_ptr<FakeMachine> machine_;
  std::vector<std::unique_ptr<QueuedLane>> lanes_;  // from in_lane on
  std::int64_t recorded_ = 0;                       // events of the compute lane
  std::function<void()> check_;
};

class Forgetful final : public Streams {
 public:
  Forgetful(std::shared_ptr<Streams> inner, ForgottenWait kind, std::int64_t number, std::shared_ptr<const bool> counting)
      : inner_(std::move(inner)), kind_(kind), left_(number), counting_(std::move(counting)) {}
  const Device& device() const override { return inner_->device(); }
  bool shares_host_memory() const override { return inner_->shares_host_memory(); }
  Tensor new_host_tensor(const Sizes& sizes, Dtype dtype) override {
    return inner_->new_host_tensor(sizes, dtype);
  }
  Lane new_lane() override { return inner_->new_lane(); }
  Event record(Lane lane, Timed timed) override { return inner_->record(lane, timed); }
  double seconds_between(const Event& begin, const Event& end) override { return inner_->seconds_between(begin, end); }
  void wait(Lane lane, const Event& event) override {
    const auto kind = lane == compute_lane ? ForgottenWait::of_compute_lane : ForgottenWait::of_another_lane;
    const bool counts = kind == kind_ && (counting_ == nullptr || *counting_);
    if (!counts || left_-- != 0) inner_->wait(lane, event);
  }
  void copy(Lane lane, const Tensor& to, const Tensor& from) override { inner_->copy(lane, to, from); }
  void* handle(Lane lane) override { return inner_->handle(lane); }

 private:
  std::shared_ptr<Streams> inner_;
  ForgottenWait kind_;
  std::int64_t left_;
  const std::shared_ptr<const bool> counting_;
};

}  // namespace

std::shared_ptr<FakeMachine> make_fake_machine(std::uint64_t seed, double deadline_seconds) {
  return std::make_shared<FakeMachine>(seed, deadline_seconds);
}

std::unique_ptr<FakeStreams> make_fake_streams(std::shared_ptr<FakeMachine> machine) {
  return std::make_unique<Fake>(std::move(machine));
}

std::unique_ptr<Streams> forgetful(std::shared_ptr<Streams> inner, ForgottenWait kind, std::int64_t number,
                                   std::shared_ptr<const bool> counting) {
  return std::make_unique<Forgetful>(std::move(inner), kind, number, std::move(counting));
}

}  // namespace troika::tensor
