// A lane of a fake device (fake_streams_test_support.h) as libraries see it that queue work of their own.
#pragma once

#include <cstdint>
#include <memory>

namespace troika::tensor {

inline constexpr int poison = 0xff;  // every byte: NaN in all floating types, -1 in integers

class FakeWork {
 public:
  virtual ~FakeWork() = default;
  // Does it, or returns false when that is not possible yet (a recv whose peer has not sent); it is asked again. Calls
  // are one at a time in the whole machine, from any thread.
  virtual bool try_to_do() = 0;
  // Without touching memory: false where try_to_do would return false. Calls as of that.
  virtual bool can_move() { return true; }
  virtual std::int64_t milliseconds() const { return 0; }  // that it takes by the device's clock
};

// What FakeStreams::handle points to: where libraries put work of their own.
class FakeLane {
 public:
  virtual ~FakeLane() = default;
  virtual const void* device() const = 0;  // the same for all lanes of one device
  virtual bool ordered() = 0;              // whether work that is asked for now is ordered behind the compute lane
  virtual bool open_to_host() = 0;         // whether the host may write to the device's memory while nothing is done
  virtual void push(std::unique_ptr<FakeWork> work) = 0;
};

}  // namespace troika::tensor
