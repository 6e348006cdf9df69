#include "commands/bench/bench.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "bench/benchmarks.h"
#include "config/resolve.h"
#include "plan/job.h"
#include "shape/architecture.h"
#include "shape/layout.h"
#include "shape/operation_costs.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {
namespace {

using shape::Operation;
using shape::OperationCost;
using shape::Pass;

base::Text name_of(Operation operation, const config::ModelSettings& model) {
  const shape::Architecture& architecture = shape::architecture_of(model);
  const bool rms = architecture.norm != shape::Architecture::NormKind::layer;
  const shape::BlockKind kind = shape::block_kind(model, 1);
  switch (operation) {
    case Operation::add_norm:
      return rms ? base::say("add + RMSNorm, two") : base::say("add + LayerNorm, two");
    case Operation::qkv_product:
      return base::say("product q, k, v");
    case Operation::rotation:
      return kind.norms_heads() ? base::say("QK norm + RoPE") : base::say("RoPE");
    case Operation::attention:
      return base::say("attention");
    case Operation::o_product:
      return base::say("product o");
    case Operation::up_product:
      return kind.activation_inputs() == 2 ? base::say("product gate, up") : base::say("product up");
    case Operation::activation:
      if (kind.feed_forward == shape::BlockKind::FeedForward::geglu) return base::verbatim("GeGLU");
      return kind.activation_inputs() == 2 ? base::say("SwiGLU") : base::say("GELU");
    case Operation::down_product:
      return base::say("product down");
    case Operation::bias:
      return base::say("biases");
    case Operation::embedding:
      return base::say("embedding");
    case Operation::final_norm:
      return rms ? base::say("RMSNorm") : base::say("LayerNorm");
    case Operation::output_product:
      return base::say("output product");
    case Operation::cross_entropy:
      return base::say("cross-entropy");
    case Operation::logits_dtype:
      return base::say("logits to and from bf16");
    case Operation::gradient_sum:
      return base::say("gradient sum");
    case Operation::gradient_norm:
      return base::say("gradient norm");
    case Operation::adamw:
      return base::say("AdamW");
  }
  return {};
}

base::Text name_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return base::say("forward");
    case Pass::backward:
      return base::say("backward");
    case Pass::input_gradient:
      return base::say("backward, dx");
    case Pass::weight_gradient:
      return base::say("backward, dw");
    case Pass::both:
      return {};
  }
  return {};
}

struct Sum {
  double flops = 0, bytes = 0, seconds = 0;  // seconds: at least

  void add(const Sum& other, double times = 1) {
    flops += times * other.flops;
    bytes += times * other.bytes;
    seconds += times * other.seconds;
  }
};

std::string row_of(const std::string& name, const std::string& pass, const Sum& sum, const std::string& by) {
  const std::string flops = sum.flops > 0 ? fmt::format("{:.1f}", sum.flops / 1e9) : "";
  return fmt::format("| {:<24} | {:<12} | {:>9} | {:>9.1f} | {:>9.1f} | {:<8} |\n", name, pass, flops, sum.bytes / 1e6,
                     1e6 * sum.seconds, by);
}

std::string heading(base::Language language) {
  const auto word = [&](base::Phrase phrase) { return phrase.in(language); };
  return fmt::format(
      "| {:<24} | {:<12} | {:>9} | {:>9} | {:>9} | {:<8} |\n|{:-<26}|{:-<14}|{:->10}:|{:->10}:|{:->10}:|{:-<10}|\n",
      word(base::Phrase("operation")), word(base::Phrase("pass")), "GFLOP", "MB", "us", word(base::Phrase("bound")), "",
      "", "", "", "", "");
}

// Appends a table and returns its sum.
Sum section(const base::Text& title, const config::ModelSettings& model, const std::vector<OperationCost>& rows,
            const plan::DeviceRates& rates, base::Language language, std::string* text) {
  *text += fmt::format("\n{}\n\n{}", title.in(language), heading(language));
  Sum sum;
  for (const OperationCost& row : rows) {
    const auto bound = bound_time(row.work, rates);
    const Sum of_row{row.work.flops, row.work.bytes, bound.seconds};
    const base::Text by = bound.by == plan::Bound::products ? base::say("products") : base::say("memory");
    *text +=
        row_of(name_of(row.operation, model).in(language), name_of(row.pass).in(language), of_row, by.in(language));
    sum.add(of_row);
  }
  *text += row_of(base::say("**sum**").in(language), "", sum, "");
  return sum;
}

shape::MicrobatchShape microbatch_of(const config::Resolved& resolved) {
  shape::MicrobatchShape microbatch;
  microbatch.rows = shape::MicrobatchRows::equal(resolved.batch.micro, resolved.batch.seq_len);
  microbatch.precision = resolved.settings.precision.compute;
  microbatch.by = shape::ComputedBy::gpu;
  return microbatch;
}

// The table of one device. `resolved` is of one rank; the model's vocabulary is set and precision.compute is a half.
std::string roofline_table(const config::Resolved& resolved, const plan::DeviceRates& rates, base::Language language) {
  const config::ModelSettings& model = resolved.settings.model;
  const config::Batch& batch = resolved.batch;
  const shape::MicrobatchShape microbatch = microbatch_of(resolved);
  const shape::Addition addition = plan::addition_of(resolved.settings.parallel.reproducible);
  const base::Text what = base::say(
      "{}, {}, {} x {} tokens per microbatch, {} microbatches per step, on {}: {:.0f} TFLOP/s, {:.3g} TB/s ({}).",
      model.preset, word_of(resolved.settings.precision.compute), batch.micro, batch.seq_len,
      batch.microbatches_per_rank, rates.name, rates.flops_per_second / 1e12, rates.bytes_per_second / 1e12,
      rates.source);
  std::string text = what.in(language) + "\n";
  const double microbatches = static_cast<double>(batch.microbatches_per_rank);
  const Sum block =
      section(base::say("One block, one microbatch:"), model,
              shape::block_operations(model, shape::block_kind(model, 1), microbatch), rates, language, &text);
  const Sum outer = section(base::say("Outside the blocks, one microbatch:"), model,
                            shape::outer_operations(model, microbatch), rates, language, &text);
  const auto elements = shape::summed_elements(model, batch.microbatches_per_rank, addition);
  Sum step = section(
      base::say("Once per step:"), model,
      shape::update_operations(
          elements,
          shape::shape_of(resolved.settings.optimizer.name).update_bytes(config::bytes_of(microbatch.precision))),
      rates, language, &text);
  step.add(block, microbatches * static_cast<double>(model.layers));
  step.add(outer, microbatches);
  const double tokens = microbatches * static_cast<double>(batch.micro * batch.seq_len);
  const base::Text end = base::lines(
      {base::say("A step of {} blocks, {:.1f} TFLOP in matrix products:", model.layers, step.flops / 1e12),
       {},
       base::say("- products and attention alone: {:.1f} ms", 1e3 * step.flops / rates.flops_per_second),
       base::say("- these kernels: {:.1f} ms, {:.0f} positions/s", 1e3 * step.seconds, tokens / step.seconds)});
  return text + "\n" + end.in(language) + "\n";
}

// precision.compute is bf16 unless it is stated.
RooflineArguments parse_roofline(const std::vector<std::string>& words, const config::Environment& environment) {
  RooflineArguments a;
  a.parsed = config::parse_settings(words, environment, roofline_flags(a));
  if (!a.parsed.states("precision.compute")) a.parsed.settings.precision.compute = config::Precision::bf16;
  if (!a.parsed.states("parallel.reproducible")) a.parsed.settings.parallel.reproducible = config::Reproducible::layout;
  return a;
}

// The named device's, with what the flags say in their place. ConfigError for an unknown name.
plan::DeviceRates rates_of(const RooflineArguments& a) {
  plan::DeviceRates rates = plan::find_device_rates(a.device);
  if (a.tflops) rates.flops_per_second = 1e12 * *a.tflops;
  if (a.terabytes) rates.bytes_per_second = 1e12 * *a.terabytes;
  if (a.tflops || a.terabytes) rates = {"stated", rates.flops_per_second, rates.bytes_per_second, base::say("given by flags")};
  return rates;
}

}  // namespace

config::FlagTable roofline_flags(RooflineArguments& a) {
  config::FlagTable table("troika bench roofline");
  table.usage("[--device-rates NAME] [--tflops X] [--terabytes X] [settings of train]");
  table
      .add("device-rates", a.device,
           "The device whose rates bound the operations: h200 as measured, h200-sheet, h100, a100-80 and others.")
      .offered(plan::device_rate_names)
      .shown("NAME");
  table.add("tflops", a.tflops, "The device's bf16 matrix products, in 10^12 operations per second.")
      .range(1e-3, 1e6)
      .unset("the named device's");
  table.add("terabytes", a.terabytes, "The device's memory bandwidth, in 10^12 bytes per second.")
      .range(1e-3, 1e6)
      .unset("the named device's");
  table.settings({"model.preset", "batch.seq_len", "batch.micro_batch_size", "batch.global_batch_size"});
  table.paragraph(
      "Counts, measures nothing and needs no device. By default the model computes in bf16 and gradients\nadd up as with --reproducible layout. docs/gpu.md lists what is counted.");
  return table;
}

std::string roofline_report(const Call& call) {
  const RooflineArguments a = parse_roofline(call.words, call.environment);
  const plan::DeviceRates rates = rates_of(a);
  config::Resolved resolved = config::resolve(a.parsed.settings, 1);
  if (resolved.settings.precision.compute == config::Precision::fp32)
    throw base::ConfigError(
        base::say("precision.compute is fp32, but bench roofline uses device rates for 16-bit types: set --precision.compute bf16"));
  resolved.settings.model.vocab = tokenizer::vocabulary_of(resolved.settings);
  return roofline_table(resolved, rates, call.language);
}

int run_bench(const Call& call) {
  if (call.part->name == "kernels") return bench::run_bench_kernels(call.words, call.environment, call.language);
  if (call.part->name == "comm") return bench::run_bench_comm(call.words, call.environment, call.language);
  if (call.part->name == "step") return bench::run_bench_step(call.words, call.environment, call.language);
  base::put(roofline_report(call), stdout);
  return 0;
}

}  // namespace troika::commands
