#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "comm/collectives.h"
#include "rendezvous/identity.h"
#include "shape/gradient_bytes.h"
#include "sharding/gradient_sum.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"
#include "train/machine_here.h"
#include "train/session.h"

namespace troika::bench {
namespace {

constexpr std::int64_t most_integer_bytes = 1 << 20;

// A message of a training run, of one kind and size. All ranks of the channel call the same functions in the same order.
struct Exchange {
  base::Text name;
  std::int64_t bytes = 0;         // of the buffer
  std::int64_t sent_bytes = 0;    // by this rank
  std::function<double()> round;  // one exchange; its seconds on this rank
  std::function<bool()> correct;  // one exchange whose results are looked at
};

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

// `bytes` is a multiple of 8. To the next rank, from the one before, all at once.
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
  return {base::say("send and receive"), bytes, bytes, [once] { return seconds_of(once); }, correct};
}

// Gradients in fp32: ranges change hands and are added up; of several leaves packed integers.
Exchange reduce_scatter_of(comm::Channel& world, std::int64_t bytes, std::int64_t leaves, const base::Text& name) {
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
  return reduce_scatter_of(world, bytes, 1, base::verbatim("reduce-scatter"));
}

Exchange reduce_scatter_of_sums(comm::Channel& world, std::int64_t bytes) {
  return reduce_scatter_of(world, bytes, 2, base::say("reduce-scatter of sums"));
}

// The summed ranges of all ranks.
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
  return {base::verbatim("all-gather"), bytes, shape::gather_bytes_sent(s->sum.plan(), s->shape), round, correct};
}

// The exact sum that ends a step.
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
  return {base::say("sum of integers"), bytes, bytes * (world.size() - 1), round, correct};
}

struct Row {
  base::Text name;
  std::int64_t bytes = 0, sent_bytes = 0;  // sent by the rank that sends most
  double seconds = 0;                      // of the slowest rank's median
  double rate() const { return static_cast<double>(sent_bytes) / seconds; }
};

// Every rank runs as many rounds: as many as the slowest does in the time.
Row measure(comm::Channel& world, const Exchange& exchange, double seconds) {
  if (tensor::smallest(train::gathered(world, {exchange.correct() ? 1.0 : 0.0})) == 0)
    throw base::BugError(fmt::format("{} of {} bytes brings other data than were sent", exchange.name.english, exchange.bytes));
  const double probe = std::min(exchange.round(), exchange.round());
  const double slowest = tensor::largest(train::gathered(world, {probe}));
  const int rounds = static_cast<int>(std::clamp(seconds / std::max(slowest, 1e-6), 5.0, 2000.0));
  std::vector<double> times;
  comm::barrier(world);
  for (int round = 0; round < rounds; ++round) times.push_back(exchange.round());
  const tensor::Tensor all = train::gathered(world, {base::median(times), static_cast<double>(exchange.sent_bytes)});
  return {exchange.name, exchange.bytes, static_cast<std::int64_t>(tensor::largest(all.select(1, 1))),
          tensor::largest(all.select(1, 0))};
}

std::vector<Row> measure_all(comm::Channel& world, const CommArguments& a) {
  std::vector<Row> rows;
  for (const auto make : {neighbours, reduce_scatter, reduce_scatter_of_sums, all_gather, integers}) {
    const std::int64_t most = make == integers ? std::min(a.most_bytes, most_integer_bytes) : a.most_bytes;
    for (std::int64_t bytes = least_message_bytes; bytes <= most; bytes *= 4)
      rows.push_back(measure(world, make(world, bytes), a.seconds));
  }
  return rows;
}

std::string to_table(const std::vector<Row>& rows, int ranks, base::Language language) {
  const auto word = [&](base::Phrase phrase) { return phrase.in(language); };
  std::string text = base::say("bench comm  {} ranks", ranks).in(language) + "\n" +
                     fmt::format("{:<22} {:>10} {:>12} {:>14} {:>10}\n", word(base::Phrase("operation")),
                                 word(base::Phrase("bytes")), "us", word(base::Phrase("sent by a rank")), "MB/s");
  for (const Row& row : rows) {
    text += fmt::format("{:<22} {:>10} {:>12.1f} {:>14} {:>10.1f}\n", row.name.in(language), row.bytes, 1e6 * row.seconds,
                        row.sent_bytes, row.rate() / 1e6);
  }
  return text;
}

std::string to_csv(const std::vector<Row>& rows, int ranks) {
  std::string text = "operation,ranks,bytes,microseconds,sent_bytes,megabytes_per_second\n";
  for (const Row& row : rows) {
    text += fmt::format("{},{},{},{:.3f},{},{:.4g}\n", row.name.english, ranks, row.bytes, 1e6 * row.seconds, row.sent_bytes,
                        row.rate() / 1e6);
  }
  return text;
}

void run_in(train::Session& session, const rendezvous::Identity& me, const CommArguments& a, base::Language language) {
  session.join();
  rendezvous::Facts facts;
  facts.values = {{"--seconds", fmt::format("{:g}", a.seconds)}, {"--most", std::to_string(a.most_bytes)}};
  session.agree("bench comm", facts);
  mesh::Shape shape;
  shape.dp = me.world_size;
  session.connect(shape, nullptr);
  const std::vector<Row> rows = measure_all(*session.channels().world, a);
  if (me.world_rank == 0) {
    std::fputs(to_table(rows, me.world_size, language).c_str(), stdout);
    if (!a.csv.empty()) base::write_file_atomic(a.csv, to_csv(rows, me.world_size));
  }
  session.finish();
}

}  // namespace

int run_bench_comm(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment,
                   base::Language language) {
  const CommArguments a = parse_bench_comm(arguments, environment);
  const rendezvous::Identity me = rendezvous::identify(environment);
  if (me.world_size < 2)
    throw base::ConfigError(
        base::say("bench comm needs two ranks or more: troika launch --nproc-per-node 2 -- bench comm"));
  train::Session session(me, a.parsed.settings.comm);
  try {
    run_in(session, me, a, language);
    return 0;
  } catch (const base::Error& error) {
    if (session.fail({error.exit_code(), base::text_of(error), error.cause()}).launcher_tells) return error.exit_code();
    throw;
  }
}

}  // namespace troika::bench
