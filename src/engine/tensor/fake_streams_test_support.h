// A fake device over host memory that is as late as a GPU may be, so that a missing wait changes numbers. Handles of
// its lanes point to FakeLane.
//
// Work of the compute lane is what the rank's thread does, at once. Work of other lanes is done late, between lanes in
// a drawn order, and only when somebody waits for something: the compute lane for an event (then the rank's thread
// blocks until it has passed), or the host, which polls one. Whoever waits moves the lanes of all devices of the
// machine on, as devices do while their hosts are busy elsewhere.
//
// Work must be ordered behind the compute lane: since the lane's last recorded event it must have waited for an event
// of the compute lane that it had not waited for before. Work that is not ordered so moves poison. (A real device is
// milder: several pieces of work may share one wait; here they may as long as no event is recorded between them.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tensor/fake_lane_test_support.h"
#include "tensor/streams.h"

namespace troika::tensor {

class FakeMachine;  // its devices, one per rank; may be used from several threads

// Draws by `seed`. A device that is blocked for longer than `deadline_seconds` is a BugError.
std::shared_ptr<FakeMachine> make_fake_machine(std::uint64_t seed, double deadline_seconds);

// One device, for one rank's thread.
class FakeStreams : public Streams {
 public:
  // Where a device would wait, the rank's thread is blocked, because it is the compute lane. There it calls `check`
  // again and again, as a host that polls an event would; what that throws ends the wait.
  virtual void while_standing(std::function<void()> check) = 0;
};
std::unique_ptr<FakeStreams> make_fake_streams(std::shared_ptr<FakeMachine> machine);

// Leaves out one wait, to plant a fault. Waits are counted from 0, those of the compute lane and those of all others
// apart; where `counting` is given, from when it is true.
enum class ForgottenWait { of_compute_lane, of_another_lane };
std::unique_ptr<Streams> forgetful(std::shared_ptr<Streams> inner, ForgottenWait kind, std::int64_t number,
                                   std::shared_ptr<const bool> counting = nullptr);

}  // namespace troika::tensor
