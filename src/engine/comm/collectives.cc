#include "comm/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace troika::comm {
namespace {

// One tag per collective: two of them never overlap on one rank, and messages of one tag arrive in posting order.
enum Collective : std::uint32_t {
  barrier_tag = first_collective_tag,
  sum_tag,
  gather_tag,
  exchange_tag,
  length_tag,
  text_tag,
  cast_tag
};

bool is_empty(const tensor::Tensor& tensor) { return tensor.elements() == 0; }

void check_count(const Channel& channel, const std::vector<tensor::Tensor>& tensors) {
  if (tensors.size() != static_cast<std::size_t>(channel.size())) {
    throw base::BugError(fmt::format("a collective of {} ranks was given {} tensors", channel.size(), tensors.size()));
  }
}

// Everyone exchanges with everyone: first all receives, then all sends, each rank beginning with its right-hand neighbour so
// that not all ranks send to rank 0 at once. Empty tensors do not travel: both sides know.
void exchange(Channel& channel, const std::vector<tensor::Tensor>& to, const std::vector<tensor::Tensor>& from,
              std::uint32_t tag) {
  const int size = channel.size(), rank = channel.rank();
  std::vector<Message> in, out;
  for (int i = 1; i < size; ++i) {
    const int left = (rank + size - i) % size, right = (rank + i) % size;
    const tensor::Tensor &coming = from[static_cast<std::size_t>(left)], &going = to[static_cast<std::size_t>(right)];
    if (!is_empty(coming)) in.push_back({coming, left, tag});
    if (!is_empty(going)) out.push_back({going, right, tag});
  }
  for (Transfer& transfer : channel.exchange(in, out)) transfer.wait();
}

tensor::Tensor bytes_of(void* data, std::size_t count) {
  return tensor::borrow(data, {static_cast<std::int64_t>(count)}, tensor::Dtype::uint8);
}

void copy_own(const tensor::Tensor& out, const tensor::Tensor& mine) {
  if (out.bytes() != mine.bytes()) {
    throw base::BugError(
        fmt::format("a collective was given {} bytes of this rank and room for {}", mine.bytes(), out.bytes()));
  }
  if (!is_empty(mine) && out.data() != mine.data()) out.copy_from(mine);
}

}  // namespace

void barrier(Channel& channel) {
  const auto size = static_cast<std::size_t>(channel.size());
  std::vector<std::uint8_t> come(size), gone(size);
  std::vector<tensor::Tensor> to, from;
  for (std::size_t r = 0; r < size; ++r) {
    to.push_back(bytes_of(&gone[r], 1));
    from.push_back(bytes_of(&come[r], 1));
  }
  exchange(channel, to, from, barrier_tag);
}

namespace {

// Sums, then maxima, of one rank or of several.
struct Integers {
  std::vector<std::int64_t> values;
  std::size_t sums = 0;

  tensor::Tensor bytes() { return bytes_of(values.data(), values.size() * sizeof(std::int64_t)); }

  void include(const Integers& other) {
    for (std::size_t i = 0; i < sums; ++i) {
      const std::uint64_t sum = static_cast<std::uint64_t>(values[i]) + static_cast<std::uint64_t>(other.values[i]);
      std::memcpy(&values[i], &sum, sizeof sum);
    }
    for (std::size_t i = sums; i < values.size(); ++i) values[i] = std::max(values[i], other.values[i]);
  }
};

// Recursive doubling among the first 2^k ranks; each of the others adds its part to one of these before and is told after.
void combine(Channel& channel, Integers& mine) {
  const int size = channel.size(), rank = channel.rank();
  int core = 1;
  while (2 * core <= size) core *= 2;
  Integers other = mine;
  if (rank >= core) {
    channel.send(mine.bytes(), rank - core, sum_tag).wait();
    channel.recv(mine.bytes(), rank - core, sum_tag).wait();
    return;
  }
  const bool has_other = rank + core < size;
  if (has_other) {
    channel.recv(other.bytes(), rank + core, sum_tag).wait();
    mine.include(other);
  }
  for (int distance = 1; distance < core; distance *= 2) {
    Transfer receiving = channel.recv(other.bytes(), rank ^ distance, sum_tag);
    channel.send(mine.bytes(), rank ^ distance, sum_tag).wait();
    receiving.wait();
    mine.include(other);
  }
  if (has_other) channel.send(mine.bytes(), rank + core, sum_tag).wait();
}

}  // namespace

void combine_integers(Channel& channel, std::vector<std::int64_t>& sums, std::vector<std::int64_t>& maxima) {
  if (channel.size() == 1 || (sums.empty() && maxima.empty())) return;
  Integers mine{sums, sums.size()};
  mine.values.insert(mine.values.end(), maxima.begin(), maxima.end());
  combine(channel, mine);
  const auto end_of_sums = mine.values.begin() + static_cast<std::ptrdiff_t>(sums.size());
  sums.assign(mine.values.begin(), end_of_sums);
  maxima.assign(end_of_sums, mine.values.end());
}

void sum_integers(Channel& channel, std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> none;
  combine_integers(channel, values, none);
}

void all_gather(Channel& channel, const tensor::Tensor& mine, const std::vector<tensor::Tensor>& outs) {
  check_count(channel, outs);
  exchange(channel, std::vector<tensor::Tensor>(outs.size(), mine), outs, gather_tag);
  copy_own(outs[static_cast<std::size_t>(channel.rank())], mine);
}

void all_to_all(Channel& channel, const std::vector<tensor::Tensor>& to, const std::vector<tensor::Tensor>& from) {
  check_count(channel, to);
  check_count(channel, from);
  exchange(channel, to, from, exchange_tag);
  const auto me = static_cast<std::size_t>(channel.rank());
  copy_own(from[me], to[me]);
}

std::vector<std::string> all_gather_text(Channel& channel, const std::string& mine) {
  const auto size = static_cast<std::size_t>(channel.size());
  std::vector<std::int64_t> lengths(size, static_cast<std::int64_t>(mine.size()));
  std::int64_t my_length = static_cast<std::int64_t>(mine.size());
  std::vector<tensor::Tensor> to(size, bytes_of(&my_length, sizeof my_length)), from;
  for (std::int64_t& length : lengths) from.push_back(bytes_of(&length, sizeof length));
  exchange(channel, to, from, length_tag);

  std::string text = mine;
  std::vector<std::string> all;
  for (const std::int64_t length : lengths) all.emplace_back(static_cast<std::size_t>(length), '\0');
  to.assign(size, bytes_of(text.data(), text.size()));
  from.clear();
  for (std::string& other : all) from.push_back(bytes_of(other.data(), other.size()));
  exchange(channel, to, from, text_tag);
  all[static_cast<std::size_t>(channel.rank())] = mine;
  return all;
}

void broadcast(Channel& channel, const tensor::Tensor& tensor, int root) {
  if (is_empty(tensor)) return;
  if (channel.rank() != root) {
    channel.recv(tensor, root, cast_tag).wait();
    return;
  }
  std::vector<Transfer> transfers;
  for (int i = 1; i < channel.size(); ++i) {
    transfers.push_back(channel.send(tensor, (root + i) % channel.size(), cast_tag));
  }
  for (Transfer& transfer : transfers) transfer.wait();
}

static constexpr std::uint32_t question_tag = first_collective_tag + 64, answer_tag = first_collective_tag + 65;

static tensor::Tensor room(double* value) { return tensor::borrow(value, {1}, tensor::Dtype::fp64); }

// The next question's receive is posted before the answer leaves, so no round waits for the channel's own handshake.
static void answer(Channel& world, int peer, int rounds, const std::function<double()>& now) {
  double question = 0, time = 0;
  Transfer asked = world.recv(room(&question), peer, question_tag);
  for (int round = 0; round < rounds; ++round) {
    asked.wait();
    time = now();
    if (round + 1 < rounds) asked = world.recv(room(&question), peer, question_tag);
    world.send(room(&time), peer, answer_tag).wait();
  }
}

static double ask(Channel& world, int rounds, const std::function<double()>& now) {
  double question = 0, time = 0, offset = 0, shortest = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    Transfer answered = world.recv(room(&time), 0, answer_tag);
    const double before = now();
    Transfer asked = world.send(room(&question), 0, question_tag);
    answered.wait();
    const double after = now();
    asked.wait();
    if (after - before >= shortest) continue;
    shortest = after - before;
    offset = time - (before + after) / 2;
  }
  return offset;
}

double clock_offset_seconds(Channel& world, int rounds, const std::function<double()>& now) {
  if (world.rank() != 0) return ask(world, rounds, now);
  for (int peer = 1; peer < world.size(); ++peer) answer(world, peer, rounds, now);
  return 0;
}

}  // namespace troika::comm
