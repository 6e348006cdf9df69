#include "bench/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "bench/arguments.h"
#include "bench/exchanges.h"
#include "bench/gathered.h"
#include "bench/timing.h"
#include "comm/collectives.h"
#include "rendezvous/identity.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"
#include "train/session.h"

namespace troika::bench {
namespace {

constexpr std::int64_t most_integer_bytes = 1 << 20;

struct Row {
  std::string name;
  std::int64_t bytes = 0, sent_bytes = 0;  // sent by the rank that sends most
  double seconds = 0;                      // of the slowest rank's median
  double rate() const { return static_cast<double>(sent_bytes) / seconds; }
};

// Every rank runs as many rounds: as many as the slowest does in the time.
Row measure(comm::Channel& world, const Exchange& exchange, double seconds) {
  if (tensor::smallest(gathered(world, {exchange.correct() ? 1.0 : 0.0})) == 0)
    throw base::BugError(fmt::format("{} of {} bytes brings other data than were sent", exchange.name, exchange.bytes));
  const double probe = std::min(exchange.round(), exchange.round());
  const double slowest = tensor::largest(gathered(world, {probe}));
  const int rounds = static_cast<int>(std::clamp(seconds / std::max(slowest, 1e-6), 5.0, 2000.0));
  std::vector<double> times;
  comm::barrier(world);
  for (int round = 0; round < rounds; ++round) times.push_back(exchange.round());
  const tensor::Tensor all = gathered(world, {base::median(times), static_cast<double>(exchange.sent_bytes)});
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
    text += fmt::format("{:<22} {:>10} {:>12.1f} {:>14} {:>10.1f}\n", row.name, row.bytes, 1e6 * row.seconds,
                        row.sent_bytes, row.rate() / 1e6);
  }
  return text;
}

std::string to_csv(const std::vector<Row>& rows, int ranks) {
  std::string text = "operation,ranks,bytes,microseconds,sent_bytes,megabytes_per_second\n";
  for (const Row& row : rows) {
    text += fmt::format("{},{},{},{:.3f},{},{:.4g}\n", row.name, ranks, row.bytes, 1e6 * row.seconds, row.sent_bytes,
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
    throw base::ConfigError(base::say("bench comm needs two ranks or more: troika launch --nproc-per-node 2 -- bench comm"));
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
