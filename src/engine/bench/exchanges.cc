#include "bench/exchanges.h"

#include <memory>

#include "base/clock.h"
#include "comm/collectives.h"
#include "shape/gradient_bytes.h"
#include "sharding/gradient_sum.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

constexpr std::uint32_t tag = 1;

double seconds_of(const std::function<void()>& work) {
  const double begin = base::monotonic_seconds();
  work();
  return base::monotonic_seconds() - begin;
}

// A buffer summed over the ranks. Whole numbers: every order of adding gives the same.
struct Sum {
  Sum(comm::Channel& channel, std::int64_t bytes, std::int64_t leaves_each, shape::Result result)
      : world(channel),
        elements(bytes / 4),
        leaves(leaves_each),
        shape(shape_of(channel, leaves_each, result)),
        sum(shape::ShardPlan({elements}, channel.size()), shape, tensor::Device(), ledger) {}

  static shape::SumShape shape_of(const comm::Channel& channel, std::int64_t leaves, shape::Result result) {
    shape::SumShape shape;
    shape.place = {channel.size(), 1, channel.rank(), 0};
    shape.shares.assign(static_cast<std::size_t>(channel.size()), leaves);
    shape.result = result;
    return shape;
  }

  void write(const tensor::Tensor& values) {
    sum.begin_step({12});  // numbers below 2^12
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      sum.leaf().open({0, elements}).copy_from(values);
      sum.leaf().close();
      sum.push();
    }
  }
  // times * (i % 1024) + plus
  tensor::Tensor numbers(double times, double plus) const {
    const tensor::Tensor all = tensor::empty({elements});
    for (std::int64_t i = 0; i < elements; ++i)
      all.data<float>()[i] = static_cast<float>(times * static_cast<double>(i % 1024) + plus);
    return all;
  }
  void write() { write(numbers(1, world.rank() + 1.0)); }
  tensor::Tensor expected() const {
    const double ranks = world.size();
    return numbers(ranks * static_cast<double>(leaves), ranks * (ranks + 1) / 2 * static_cast<double>(leaves));
  }
  void reduce() {
    sum.start_reduce(world, tag);
    sum.finish_reduce([](double, double) {});
  }
  tensor::Tensor gather() {
    sum.start_gather(world, tag + 1);
    return sum.finish_gather([](double, double) {});
  }

  comm::Channel& world;
  const std::int64_t elements, leaves;
  const shape::SumShape shape;
  tensor::Ledger ledger;
  sharding::GradientSum sum;
};

}  // namespace

Exchange neighbours(comm::Channel& world, std::int64_t bytes) {
  const tensor::Tensor out = tensor::full({bytes / 8}, world.rank(), tensor::Dtype::int64);
  const tensor::Tensor in = tensor::empty({bytes / 8}, tensor::Dtype::int64);
  const int next = (world.rank() + 1) % world.size(), before = (world.rank() + world.size() - 1) % world.size();
  const auto once = [=, &world] {
    comm::Transfer receiving = world.recv(in, before, tag), sending = world.send(out, next, tag);
    receiving.wait();
    sending.wait();
  };
  const auto correct = [=] {
    in.fill(-1);
    once();
    return tensor::smallest(in) == before && tensor::largest(in) == before;
  };
  return {"send and receive", bytes, bytes, [once] { return seconds_of(once); }, correct};
}

static Exchange reduce_scatter_of(comm::Channel& world, std::int64_t bytes, std::int64_t leaves, const char* name) {
  const auto s = std::make_shared<Sum>(world, bytes, leaves, shape::Result::range);
  const auto round = [s] {
    s->write(tensor::ones({s->elements}));
    const double seconds = seconds_of([&] { s->reduce(); });
    s->sum.reset();
    return seconds;
  };
  const auto correct = [s] {
    s->write();
    s->reduce();
    const shape::Range mine = s->sum.mine();
    const bool same = tensor::equal(s->sum.total(), s->expected().narrow(0, mine.begin, mine.count));
    s->sum.reset();
    return same;
  };
  return {name, bytes, shape::reduce_bytes_sent(s->sum.plan(), s->shape), round, correct};
}

Exchange reduce_scatter(comm::Channel& world, std::int64_t bytes) {
  return reduce_scatter_of(world, bytes, 1, "reduce-scatter");
}

Exchange reduce_scatter_of_sums(comm::Channel& world, std::int64_t bytes) {
  return reduce_scatter_of(world, bytes, 2, "reduce-scatter of sums");
}

Exchange all_gather(comm::Channel& world, std::int64_t bytes) {
  const auto s = std::make_shared<Sum>(world, bytes, 1, shape::Result::whole);
  const auto round = [s] {
    s->write(tensor::ones({s->elements}));
    s->reduce();
    comm::barrier(s->world);
    const double seconds = seconds_of([&] { s->gather(); });
    s->sum.reset();
    return seconds;
  };
  const auto correct = [s] {
    s->write();
    s->reduce();
    const bool same = tensor::equal(s->gather(), s->expected());
    s->sum.reset();
    return same;
  };
  return {"all-gather", bytes, shape::gather_bytes_sent(s->sum.plan(), s->shape), round, correct};
}

Exchange integers(comm::Channel& world, std::int64_t bytes) {
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(bytes / 8), 1);
  const auto correct = [ones, &world] {
    std::vector<std::int64_t> values = ones;
    comm::sum_integers(world, values);
    return values == std::vector<std::int64_t>(ones.size(), world.size());
  };
  const auto round = [ones, &world] {
    std::vector<std::int64_t> values = ones;
    return seconds_of([&] { comm::sum_integers(world, values); });
  };
  return {"sum of integers", bytes, bytes * (world.size() - 1), round, correct};
}

}  // namespace troika::bench
