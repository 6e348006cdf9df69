#include "bench/benchmarks.h"

#include "plan/device.h"

namespace troika::bench {
namespace {

constexpr double most_seconds = 60;

void add_seconds(config::FlagTable& table, double& seconds, config::Literal help) {
  table.add("seconds", seconds, help).unit("seconds").range(0, most_seconds);
}

void add_csv(config::FlagTable& table, std::string& csv) {
  table.add("csv", csv, "Also write the rows as CSV.").shown("FILE").unset("none");
}

constexpr auto of_the_numbers = base::Phrase("docs/benchmarks.md explains the numbers.");

}  // namespace

config::FlagTable bench_step_flags(StepArguments& a) {
  config::FlagTable table("troika bench step");
  table.usage("[--json] [--seconds S] [settings of train]");
  table.add("json", a.json, "Print one line of JSON.").alone();
  add_seconds(table, a.seconds, "How long each rate of the machine is measured.");
  table.settings({"train.steps", "train.out"});
  static_assert(usual_bench_steps == 6);
  table.paragraph(
      "--steps includes the first, which warms up; it defaults to 6. Writes to --out if given, else nothing.\nMany ranks: troika launch --nproc-per-node 2 -- bench step ...");
  table.paragraph(of_the_numbers);
  return table;
}

config::FlagTable bench_kernels_flags(KernelsArguments& a) {
  config::FlagTable table("troika bench kernels");
  table.usage("[--csv FILE] [--seconds S] [--device-rates NAME] [settings of train]");
  add_csv(table, a.csv);
  add_seconds(table, a.seconds, "How long each operation is measured.");
  table
      .add("device-rates", a.device_rates,
           "On a GPU: the device whose rates are the ideal, as in bench roofline.")
      .offered(plan::device_rate_names)
      .shown("NAME")
      .unset("measured");
  table.settings({});
  table.paragraph(of_the_numbers);
  return table;
}

config::FlagTable bench_comm_flags(CommArguments& a) {
  config::FlagTable table("troika bench comm");
  table.usage("[--csv FILE] [--seconds S] [--most SIZE] [settings of train]");
  add_csv(table, a.csv);
  add_seconds(table, a.seconds, "How long each row is measured.");
  table.add("most", a.most_bytes, "The largest message.")
      .unit("bytes")
      .range(static_cast<double>(least_message_bytes), 1e18)
      .shown("SIZE");
  table.settings({"comm.interface", "comm.shared_memory"});
  table.paragraph("One rank of a launched run: troika launch --nproc-per-node 2 -- bench comm");
  table.paragraph(of_the_numbers);
  return table;
}

StepArguments parse_bench_step(const std::vector<std::string>& words, const config::Environment& environment) {
  StepArguments a;
  a.parsed = config::parse_settings(words, environment, bench_step_flags(a));
  return a;
}

KernelsArguments parse_bench_kernels(const std::vector<std::string>& words, const config::Environment& environment) {
  KernelsArguments a;
  a.parsed = config::parse_settings(words, environment, bench_kernels_flags(a));
  return a;
}

CommArguments parse_bench_comm(const std::vector<std::string>& words, const config::Environment& environment) {
  CommArguments a;
  a.parsed = config::parse_settings(words, environment, bench_comm_flags(a));
  return a;
}

}  // namespace troika::bench
