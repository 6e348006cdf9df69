#include "commands/roofline/roofline_table.h"

#include <fmt/format.h>

#include <vector>

#include "plan/job.h"
#include "shape/architecture.h"
#include "shape/layout.h"
#include "shape/operation_costs.h"

namespace troika::commands {
namespace {

using shape::Operation;
using shape::OperationCost;
using shape::Pass;

std::string name_of(Operation operation, const config::ModelSettings& model) {
  const shape::Architecture& architecture = shape::architecture_of(model);
  const bool rms = architecture.norm == shape::Architecture::NormKind::rms;
  const shape::BlockKind kind = shape::block_kind(model, 1);
  switch (operation) {
    case Operation::add_norm:
      return rms ? "add + RMSNorm, two" : "add + LayerNorm, two";
    case Operation::qkv_product:
      return "product q, k, v";
    case Operation::rotation:
      return kind.norms_heads() ? "QK norm + RoPE" : "RoPE";
    case Operation::attention:
      return "attention";
    case Operation::o_product:
      return "product o";
    case Operation::up_product:
      return kind.activation_inputs() == 2 ? "product gate, up" : "product up";
    case Operation::activation:
      return kind.activation_inputs() == 2 ? "SwiGLU" : "GELU";
    case Operation::down_product:
      return "product down";
    case Operation::bias:
      return "biases";
    case Operation::embedding:
      return "embedding";
    case Operation::final_norm:
      return rms ? "RMSNorm" : "LayerNorm";
    case Operation::output_product:
      return "output product";
    case Operation::cross_entropy:
      return "cross-entropy";
    case Operation::logits_dtype:
      return "logits to and from bf16";
    case Operation::gradient_sum:
      return "gradient sum";
    case Operation::gradient_norm:
      return "gradient norm";
    case Operation::adamw:
      return "AdamW";
  }
  return "";
}

std::string name_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward:
      return "backward";
    case Pass::input_gradient:
      return "backward, dx";
    case Pass::weight_gradient:
      return "backward, dw";
    case Pass::both:
      return "";
  }
  return "";
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

std::string heading() {
  return fmt::format(
      "| {:<24} | {:<12} | {:>9} | {:>9} | {:>9} | {:<8} |\n|{:-<26}|{:-<14}|{:->10}:|{:->10}:|{:->10}:|{:-<10}|\n",
      "operation", "pass", "GFLOP", "MB", "us", "bound", "", "", "", "", "", "");
}

// Appends a table and returns its sum.
Sum section(const std::string& title, const config::ModelSettings& model, const std::vector<OperationCost>& rows,
            const plan::DeviceRates& rates, std::string* text) {
  *text += fmt::format("\n{}\n\n{}", title, heading());
  Sum sum;
  for (const OperationCost& row : rows) {
    const auto bound = bound_time(row.work, rates);
    const Sum of_row{row.work.flops, row.work.bytes, bound.seconds};
    *text += row_of(name_of(row.operation, model), name_of(row.pass), of_row,
                    bound.by == plan::Bound::products ? "products" : "memory");
    sum.add(of_row);
  }
  *text += row_of("**sum**", "", sum, "");
  return sum;
}

shape::MicrobatchShape microbatch_of(const config::Resolved& resolved) {
  shape::MicrobatchShape microbatch;
  microbatch.B = resolved.batch.micro;
  microbatch.T = resolved.batch.seq_len;
  microbatch.precision = resolved.settings.precision.compute;
  microbatch.by = shape::ComputedBy::gpu;
  return microbatch;
}

}  // namespace

std::string roofline_table(const config::Resolved& resolved, const plan::DeviceRates& rates) {
  const config::ModelSettings& model = resolved.settings.model;
  const config::Batch& batch = resolved.batch;
  const shape::MicrobatchShape microbatch = microbatch_of(resolved);
  const shape::Addition addition = plan::addition_of(resolved.settings.parallel.reproducible);
  std::string text = fmt::format(
      "{}, {}, {} x {} tokens in a micro-batch, {} micro-batches in a step, on {}: {:.0f} TFLOP/s, {:.3g} TB/s ({}).\n",
      model.preset, word_of(resolved.settings.precision.compute), batch.micro, batch.seq_len,
      batch.microbatches_per_rank, rates.name, rates.flops_per_second / 1e12, rates.bytes_per_second / 1e12,
      rates.source);
  const double microbatches = static_cast<double>(batch.microbatches_per_rank);
  const Sum block =
      section("One block, one micro-batch:", model, shape::block_operations(model, shape::block_kind(model, 1), microbatch), rates, &text);
  const Sum outer =
      section("Outside the blocks, one micro-batch:", model, shape::outer_operations(model, microbatch), rates, &text);
  const auto elements = shape::summed_elements(model, batch.microbatches_per_rank, addition);
  Sum step = section("Once per step:", model, shape::update_operations(elements, shape::shape_of(resolved.settings.optimizer.name).update_bytes(shape::bytes_of(microbatch.precision))), rates, &text);
  step.add(block, microbatches * static_cast<double>(model.layers));
  step.add(outer, microbatches);
  const double tokens = microbatches * static_cast<double>(batch.micro * batch.seq_len);
  text += fmt::format("\nA step of {} blocks, {:.1f} TFLOP in products:\n\n", model.layers, step.flops / 1e12);
  text += fmt::format("- products and attention alone: {:.1f} ms\n", 1e3 * step.flops / rates.flops_per_second);
  text += fmt::format("- these kernels: {:.1f} ms, {:.0f} positions/s\n", 1e3 * step.seconds, tokens / step.seconds);
  return text;
}

}  // namespace troika::commands
