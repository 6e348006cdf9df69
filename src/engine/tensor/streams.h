// The queues of work of one rank's device. A GPU executes what the rank's thread queues later: in order within a
// lane, in no order between lanes unless an event sets one. On a CPU everything is done when the call returns.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace troika::tensor {

// compute: every operation on tensors, in the stream that is the thread's current one. in and out: from the host to the device and back, which pass each other.
// Messages have lanes of their own (comm/nccl_link.h), which they get from new_lane().
class Lane {
 public:
  explicit Lane(int number) : number_(number) {}
  int number() const { return number_; }
  bool operator==(const Lane& other) const { return number_ == other.number_; }

 private:
  int number_;
};
inline const Lane compute_lane(0), in_lane(1), out_lane(2);

// A point in a lane: all that was asked for there before.
class Event {
 public:
  class Body {  // implemented by each kind of streams
   public:
    virtual ~Body() = default;
    virtual bool passed() = 0;
  };
  Event() = default;  // has passed
  explicit Event(std::shared_ptr<Body> body) : body_(std::move(body)) {}
  // Without waiting. Throws BugError when the device failed.
  bool passed() const { return body_ == nullptr || body_->passed(); }
  const std::shared_ptr<Body>& body() const { return body_; }

 private:
  std::shared_ptr<Body> body_;
};

// Returns when the event has passed. The thread looks again and again with short sleeps, never in a call of the device
// that an abort could not end; before each sleep it calls `check`, which throws when waiting has no sense any more
// (comm::Channel::check).
void await(const Event& event, const std::function<void()>& check);

// Timed: seconds_between() tells what lies between two of them.
enum class Timed { no, yes };

// One rank's thread; any thread may ask an event whether it has passed. An event is used with the streams that recorded it.
// Tensors that work reads or writes must live until that work is done, or until the compute lane waits for it: memory that is
// freed is used again by the compute lane at once.
class Streams {
 public:
  virtual ~Streams() = default;
  virtual const Device& device() const = 0;
  // Whether the host reads and writes the device's memory itself, so that nothing is ever copied between them.
  virtual bool shares_host_memory() const = 0;
  virtual Lane new_lane() = 0;
  virtual Event record(Lane lane, Timed timed = Timed::no) = 0;
  virtual double seconds_between(const Event& begin, const Event& end) = 0;  // of two timed events that have passed
  virtual void wait(Lane lane, const Event& event) = 0;  // what the lane does from now on is done after the event
  // to = from, of one size and dtype. Between host and device it goes beside the thread where the host's memory is
  // from new_host_tensor.
  virtual void copy(Lane lane, const Tensor& to, const Tensor& from) = 0;
  // Contiguous, uninitialised, in host memory that the device can read by itself (pinned).
  virtual Tensor new_host_tensor(const Sizes& sizes, Dtype dtype) = 0;
  // The lane as libraries that queue work of their own know it (cudaStream_t).
  virtual void* handle(Lane lane) = 0;
};

// Streams of a device that executes everything at once.
std::unique_ptr<Streams> make_host_streams();
// Streams of the device: host streams for a CPU.
std::unique_ptr<Streams> make_streams(const Device& device);

// The tensors in host memory, with what the compute lane has written to them by now: the one place where a rank waits
// for its device. Tensors that are there already come back themselves. `check` as in await().
std::vector<Tensor> read_back(Streams& streams, const std::vector<Tensor>& tensors,
                              const std::function<void()>& check);

}  // namespace troika::tensor
