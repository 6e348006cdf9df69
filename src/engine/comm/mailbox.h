// Memory that ranks of one host share: every rank has a mailbox for each of the others, to which these post
// descriptions of messages, and a bell that wakes it. Fields that both processes use are atomic; the state of a line
// names the owner of the rest.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace troika::comm {

// One message. The sender writes everything and then `posted`; only the receiver changes what is posted, only the sender takes a
// line back to `free`.
struct alignas(64) Line {
  enum State : std::uint32_t {
    free,
    posted,
    reading,    // the receiver copies
    received,   // all of it
    refused,    // the receiver has posted another size, or could not read
    withdrawn,  // the sender has given up before it was read
  };
  static constexpr std::uint32_t closes = 0xffffffff;  // as a tag: the sender has closed this channel

  std::atomic<std::uint32_t> state{free};
  std::uint32_t tag;
  std::uint64_t number;   // counts the sender's lines in this box from 0
  std::uint64_t channel;  // a hash of its name
  std::uint64_t bytes;
  std::uint64_t address;  // in the sender's memory
  std::uint32_t sheet;    // or on this one of the box, counted from 1; 0: none
};
static_assert(sizeof(Line) == 64);

// As many lines as messages may be under way before a sender has to wait for its receiver.
struct Box {
  static constexpr std::size_t lines = 4096, sheets = 64;
  using Sheet = std::array<std::byte, 4096>;  // of a small message
  std::array<Line, lines> line;
  std::array<Sheet, sheets> sheet;
};

// Rung by whoever has changed something that this rank may wait for. Any process, any thread.
class Bell {
 public:
  std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
  void ring();
  // Until it has been rung since `count` was read, or about `seconds` have passed.
  void wait(std::uint32_t count, double seconds);

 private:
  std::atomic<std::uint32_t> count_{0}, sleepers_{0};
};

// One rank's boxes, by the sender's place among the ranks of the host.
class Mailboxes {
 public:
  static constexpr int most_ranks = 256;  // of a host; what nobody uses takes no memory
  // The mailboxes of this process.
  Mailboxes();
  // Those of another process. PeerError when they cannot be mapped, or that process's memory cannot be read.
  static Mailboxes of(const std::string& card);
  Mailboxes(Mailboxes&& other) noexcept;
  Mailboxes& operator=(Mailboxes&&) = delete;
  ~Mailboxes();

  std::string card() const;  // what others need to find them
  pid_t owner() const { return owner_; }
  Bell& bell() const { return *bell_; }
  Box& box(int sender) const { return boxes_[sender]; }

 private:
  Mailboxes(pid_t owner, int descriptor) : owner_(owner), descriptor_(descriptor) {}
  void map(int descriptor, std::size_t bytes);
  struct Front;

  pid_t owner_ = 0;
  int descriptor_ = -1;  // of the owner's, for /proc
  std::size_t bytes_ = 0;
  Front* front_ = nullptr;
  Bell* bell_ = nullptr;
  Box* boxes_ = nullptr;
};

// Ranks whose texts are equal may share memory: one kernel, one view of its processes, networks and users.
std::string memory_neighbourhood();

// Copies another process's memory. False, with errno, when it cannot all be read.
bool read_memory(pid_t process, std::uint64_t address, std::size_t bytes, void* into);

}  // namespace troika::comm
