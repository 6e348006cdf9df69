#include "commands/roofline/arguments.h"

namespace troika::commands {

config::FlagTable roofline_flags(RooflineArguments& a) {
  config::FlagTable table("troika bench roofline");
  table.usage("[--device-rates NAME] [--tflops X] [--terabytes X] [settings of train]");
  table
      .add("device-rates", a.device,
           "The device whose rates bound the operations: h200 as measured, h200-sheet, h100, a100-80 and others.")
      .offered(plan::device_rate_names)
      .shown("NAME");
  table.add("tflops", a.tflops, "Its bf16 products, in 10^12 operations per second.")
      .range(1e-3, 1e6)
      .unset("the named device's");
  table.add("terabytes", a.terabytes, "Its memory, in 10^12 bytes per second.")
      .range(1e-3, 1e6)
      .unset("the named device's");
  table.settings({"model.preset", "batch.seq_len", "batch.micro_batch_size", "batch.global_batch_size"});
  table.paragraph(
      "Counts, measures nothing and needs no device. The model computes in bf16, and gradients add\n"
      "up as --reproducible layout has it, unless these are stated. docs/gpu.md names what is counted.");
  return table;
}

RooflineArguments parse_roofline(const std::vector<std::string>& words, const config::Environment& environment) {
  RooflineArguments a;
  a.parsed = config::parse_settings(words, environment, roofline_flags(a));
  if (!a.parsed.states("precision.compute")) a.parsed.settings.precision.compute = config::Precision::bf16;
  if (!a.parsed.states("parallel.reproducible")) a.parsed.settings.parallel.reproducible = config::Reproducible::layout;
  return a;
}

plan::DeviceRates rates_of(const RooflineArguments& a) {
  plan::DeviceRates rates = plan::find_device_rates(a.device);
  if (a.tflops) rates.flops_per_second = 1e12 * *a.tflops;
  if (a.terabytes) rates.bytes_per_second = 1e12 * *a.terabytes;
  if (a.tflops || a.terabytes) rates = {"stated", rates.flops_per_second, rates.bytes_per_second, "given by flags"};
  return rates;
}

}  // namespace troika::commands
