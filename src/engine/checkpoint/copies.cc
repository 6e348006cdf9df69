#include "checkpoint/copies.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/stream_hash.h"
#include "checkpoint/gather.h"
#include "checkpoint/safetensors_writer.h"
#include "tensor/tensor.h"

namespace troika::checkpoint {

int Copies::written_by(int rank) const {
  for (std::size_t other = 0; other < of.size(); ++other)
    if (of[other].by == SecondCopy::By::writing && of[other].rank == rank) return static_cast<int>(other);
  return -1;
}

namespace {

// A rank of the disk after this rank's.
int rank_of_next_disk(const Disks& disks, int rank) {
  const std::set<int> leaders(disks.leader.begin(), disks.leader.end());
  auto next = leaders.upper_bound(disks.leader[static_cast<std::size_t>(rank)]);
  if (next == leaders.end()) next = leaders.begin();
  const std::vector<int> mine = disks.members(rank), theirs = disks.members(*next);
  const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
  return theirs[place % theirs.size()];
}

}  // namespace

Copies plan_copies(const Disks& disks, const std::vector<int>& twin_of) {
  Copies copies;
  const std::set<int> leaders(disks.leader.begin(), disks.leader.end());
  if (leaders.size() < 2) return copies;
  copies.of.resize(twin_of.size());
  for (std::size_t rank = 0; rank < twin_of.size(); ++rank) {
    const auto writer = static_cast<std::size_t>(twin_of[rank]);
    if (writer == rank || copies.of[writer].by != SecondCopy::By::nobody) continue;
    if (disks.leader[rank] != disks.leader[writer])
      copies.of[writer] = {SecondCopy::By::writing, static_cast<int>(rank)};
  }
  for (std::size_t rank = 0; rank < copies.of.size(); ++rank) {
    const bool writes = twin_of[rank] == static_cast<int>(rank);
    if (writes && copies.of[rank].by == SecondCopy::By::nobody)
      copies.of[rank] = {SecondCopy::By::sending, rank_of_next_disk(disks, static_cast<int>(rank))};
  }
  return copies;
}

namespace {

constexpr std::int64_t message_bytes = 256 << 10;
constexpr std::uint32_t copy_tag = 0x434c;

// The files of one rank, one after the other, as one run of bytes from or to a peer.
class RunOfBytes {
 public:
  RunOfBytes(const std::string& folder, const std::vector<Part>& parts, int peer)
      : folder_(folder), parts_(parts), peer_(peer) {
    for (const Part& part : parts) left_ += part.bytes;
  }
  std::int64_t left() const { return left_; }

 protected:
  void advance_to_next_file() {
    ++index_;
    at_ = 0;
  }

  const std::string& folder_;
  const std::vector<Part>& parts_;
  const int peer_;
  std::int64_t left_ = 0, at_ = 0;  // of all, in the file
  std::size_t index_ = 0;           // of the file
  tensor::Tensor buffer_;
};

class Outgoing : public RunOfBytes {
 public:
  using RunOfBytes::RunOfBytes;

  comm::Transfer send_next(comm::Channel& world) {
    const std::int64_t bytes = std::min(message_bytes, left_);
    buffer_ = tensor::zeros({bytes}, tensor::Dtype::uint8);
    fill(reinterpret_cast<char*>(buffer_.data<std::uint8_t>()), bytes);
    left_ -= bytes;
    return world.send(buffer_, peer_, copy_tag);
  }

 private:
  // A file that cannot be read is sent as zeros, which the receiver's hash refuses.
  void fill(char* out, std::int64_t bytes) {
    while (bytes > 0) {
      const Part& part = parts_[index_];
      if (at_ == 0) file_ = std::ifstream(folder_ + "/" + part.file, std::ios::binary);
      const std::int64_t now = std::min(bytes, part.bytes - at_);
      file_.read(out, now);
      out += now;
      bytes -= now;
      at_ += now;
      if (at_ == part.bytes) advance_to_next_file();
    }
  }

  std::ifstream file_;
};

// The same run of bytes at its other end.
class Incoming : public RunOfBytes {
 public:
  using RunOfBytes::RunOfBytes;

  const base::Text& problem() const { return problem_; }

  comm::Transfer receive_next(comm::Channel& world) {
    buffer_ = tensor::empty({std::min(message_bytes, left_)}, tensor::Dtype::uint8);
    return world.recv(buffer_, peer_, copy_tag);
  }

  void store() {
    const char* in = reinterpret_cast<const char*>(buffer_.data<std::uint8_t>());
    std::int64_t bytes = buffer_.elements();
    left_ -= bytes;
    while (bytes > 0) {
      const Part& part = parts_[index_];
      const std::int64_t now = std::min(bytes, part.bytes - at_);
      write(part, in, now);
      in += now;
      bytes -= now;
    }
  }

 private:
  void write(const Part& part, const char* in, std::int64_t bytes) {
    const bool first = at_ == 0;
    at_ += bytes;
    try {
      if (first) begin(part);
      hash_.add(in, static_cast<std::size_t>(bytes));
      if (file_) file_->write({in, static_cast<std::size_t>(bytes)});
      if (at_ == part.bytes) finish(part);
    } catch (const base::DataError& error) {
      fail(base::text_of(error));
    }
    if (at_ == part.bytes) advance_to_next_file();
  }

  void begin(const Part& part) {
    hash_.restart();
    file_ = std::make_unique<NewFile>(folder_ + "/" + part.file);
  }

  void finish(const Part& part) {
    if (!file_) return;
    if (hash_.hex() == part.hash) {
      file_->finish();
    } else {
      fail(base::say("'{}/{}' differs from what was sent", folder_, part.file));
    }
    file_.reset();
  }

  void fail(const base::Text& problem) {
    if (problem_.empty()) problem_ = problem;
    file_.reset();
  }

  base::StreamHash hash_;
  std::unique_ptr<NewFile> file_;
  base::Text problem_;
};

void wait_until(double seconds) {
  const double left = seconds - base::monotonic_seconds();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

}  // namespace

std::vector<base::Text> send_copies(const std::string& folder, const Copies& copies,
                                    const std::vector<std::vector<Part>>& parts, comm::Channel& world) {
  std::optional<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int rank = 0; rank < world.size(); ++rank) {
    const SecondCopy& copy = copies.of[static_cast<std::size_t>(rank)];
    const std::vector<Part>& own = parts[static_cast<std::size_t>(rank)];
    if (copy.by != SecondCopy::By::sending || own.empty()) continue;
    if (rank == world.rank()) outgoing.emplace(folder, own, copy.rank);
    if (copy.rank == world.rank()) incoming.emplace_back(folder, own, rank);
  }
  // A message of every run of bytes per round: both its ends come to it after the same number of rounds.
  for (bool more = true; more;) {
    more = false;
    const double begin = base::monotonic_seconds();
    std::vector<std::pair<Incoming*, comm::Transfer>> arriving;
    for (Incoming& one : incoming)
      if (one.left() > 0) arriving.emplace_back(&one, one.receive_next(world));
    comm::Transfer leaving;
    const std::int64_t before = outgoing ? outgoing->left() : 0;
    if (before > 0) leaving = outgoing->send_next(world);
    for (auto& [one, transfer] : arriving) {
      transfer.wait();
      one->store();
      more = more || one->left() > 0;
    }
    leaving.wait();
    more = more || (outgoing && outgoing->left() > 0);
    const std::int64_t sent = before - (outgoing ? outgoing->left() : 0);
    if (copies.bytes_per_second > 0) wait_until(begin + static_cast<double>(sent) / copies.bytes_per_second);
  }
  return gather_words(world, [&] {
    for (const Incoming& one : incoming)
      if (!one.problem().empty()) return base::say("no second copy on {}: {}", base::host_name(), one.problem());
    return base::Text{};
  });
}

}  // namespace troika::checkpoint
