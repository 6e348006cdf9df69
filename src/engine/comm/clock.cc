#include "comm/clock.h"

#include <limits>

#include "tensor/tensor.h"

namespace troika::comm {

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
