#include "commands/roofline/roofline_table.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "plan/job.h"
#include "shape/layout.h"

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

// The same work three ways.
struct Ways {
  double flops = 0;
  std::array<double, 3> bytes{}, seconds{};  // ours, eager, compiled

  void add(const Ways& other, double times = 1) {
    flops += times * other.flops;
    for (std::size_t way = 0; way < bytes.size(); ++way) {
      bytes[way] += times * other.bytes[way];
      seconds[way] += times * other.seconds[way];
    }
  }
};

Ways ways_of(const PyTorchStep& step, const OperationCost& ours, const plan::DeviceRates& rates) {
  const PyTorchKernels eager = pytorch_kernels(step, ours, PyTorchMode::eager);
  const PyTorchKernels compiled = pytorch_kernels(step, ours, PyTorchMode::compiled);
  return {ours.work.flops,
          {ours.work.bytes, bytes_of(step, eager), bytes_of(step, compiled)},
          {bound_time(ours.work, rates).seconds, seconds_of(step, eager, rates), seconds_of(step, compiled, rates)}};
}

std::string row_of(const std::string& name, const std::string& pass, const Ways& ways, const std::string& by) {
  const std::string flops = ways.flops > 0 ? fmt::format("{:.1f}", ways.flops / 1e9) : "";
  std::string text = fmt::format("| {:<24} | {:<12} | {:>9} |", name, pass, flops);
  for (std::size_t way = 0; way < ways.bytes.size(); ++way) {
    text += fmt::format(" {:>9.1f} | {:>9.1f} |", ways.bytes[way] / 1e6, 1e6 * ways.seconds[way]);
    if (way == 0) text += fmt::format(" {:<8} |", by);
  }
  return text + "\n";
}

std::string heading() {
  return fmt::format(
      "| {:<24} | {:<12} | {:>9} | {:>9} | {:>9} | {:<8} | {:>9} | {:>9} | {:>9} | {:>9} |\n"
      "|{:-<26}|{:-<14}|{:->10}:|{:->10}:|{:->10}:|{:-<10}|{:->10}:|{:->10}:|{:->10}:|{:->10}:|\n",
      "operation", "pass", "GFLOP", "MB", "us", "bound", "eager MB", "us", "compiled", "us", "", "", "", "", "", "", "",
      "", "", "");
}

// Appends a table and returns its sum.
Ways section(const std::string& title, const PyTorchStep& step, const std::vector<OperationCost>& rows,
             const plan::DeviceRates& rates, std::string* text) {
  *text += fmt::format("\n{}\n\n{}", title, heading());
  Ways sum;
  for (const OperationCost& row : rows) {
    const Ways ways = ways_of(step, row, rates);
    const bool products = bound_time(row.work, rates).by == plan::Bound::products;
    *text += row_of(name_of(row.operation, step.model), name_of(row.pass), ways, products ? "products" : "memory");
    sum.add(ways);
  }
  *text += row_of("**sum**", "", sum, "");
  return sum;
}

struct Counts {
  shape::MicrobatchShape microbatch;
  PyTorchStep step;
  std::vector<OperationCost> block, outer, update;
};

Counts counts_of(const config::Resolved& resolved) {
  const config::ModelSettings& model = resolved.settings.model;
  const config::Batch& batch = resolved.batch;
  shape::MicrobatchShape microbatch;
  microbatch.B = batch.micro;
  microbatch.T = batch.seq_len;
  microbatch.precision = resolved.settings.precision.compute;
  microbatch.by = shape::ComputedBy::gpu;
  const shape::Addition addition = plan::addition_of(resolved.settings.parallel.reproducible);
  return {microbatch,
          {model, batch.micro * batch.seq_len, batch.microbatches_per_rank},
          shape::block_operations(model, shape::block_kind(model, 1), microbatch),
          shape::outer_operations(model, microbatch),
          shape::update_operations(shape::summed_elements(model, batch.microbatches_per_rank, addition),
                                   shape::shape_of(resolved.settings.optimizer.name)
                                       .update_bytes(shape::bytes_of(microbatch.precision)))};
}

std::string steps_line(const char* what, const Ways& step, std::size_t way, double tokens) {
  return fmt::format("- {}: {:.1f} ms, {:.0f} positions/s\n", what, 1e3 * step.seconds[way],
                     tokens / step.seconds[way]);
}

std::string_view unit_of(Per per) {
  switch (per) {
    case Per::D:
      return "D";
    case Per::heads:
      return "(q + k)";
    case Per::queries:
      return "q";
    case Per::keys:
      return "k";
    case Per::F:
      return "F";
    case Per::logit:
      return "V";
    case Per::table:
      return "VD";
    case Per::parameter:
      return "P";
  }
  return "";
}

std::string listed(const PyTorchKernels& found) {
  std::vector<std::string> words;
  for (const AtenKernel& kernel : found.kernels)
    words.push_back(fmt::format("{} {:g}{}", kernel.name, kernel.bytes, unit_of(kernel.per)));
  if (found.call.bytes > 0) words.insert(words.begin(), "the call itself");
  const std::string text = words.empty() ? "nothing" : base::join(words, ", ");
  return found.times > 1 ? fmt::format("{:g} x ({})", found.times, text) : text;
}

}  // namespace

std::string roofline_table(const config::Resolved& resolved, const plan::DeviceRates& rates) {
  const Counts counts = counts_of(resolved);
  const config::ModelSettings& model = resolved.settings.model;
  const config::Batch& batch = resolved.batch;
  std::string text = fmt::format(
      "{}, {}, {} x {} tokens in a micro-batch, {} micro-batches in a step, on {}: {:.0f} TFLOP/s, {:.3g} TB/s ({}).\n",
      model.preset, word_of(resolved.settings.precision.compute), batch.micro, batch.seq_len,
      batch.microbatches_per_rank, rates.name, rates.flops_per_second / 1e12, rates.bytes_per_second / 1e12,
      rates.source);
  const double microbatches = static_cast<double>(batch.microbatches_per_rank);
  const Ways block = section("One block, one micro-batch:", counts.step, counts.block, rates, &text);
  const Ways outer = section("Outside the blocks, one micro-batch:", counts.step, counts.outer, rates, &text);
  const Ways update = section("Once per step:", counts.step, counts.update, rates, &text);
  Ways step = update;
  step.add(block, microbatches * static_cast<double>(model.layers));
  step.add(outer, microbatches);
  const double tokens = microbatches * static_cast<double>(counts.step.M);
  text += fmt::format("\nA step of {} blocks, {:.1f} TFLOP in products:\n\n", model.layers, step.flops / 1e12);
  text += fmt::format("- products and attention alone: {:.1f} ms\n", 1e3 * step.flops / rates.flops_per_second);
  text += steps_line("these kernels", step, 0, tokens) + steps_line("PyTorch eager", step, 1, tokens) +
          steps_line("PyTorch compiled", step, 2, tokens);
  return text;
}

std::string pytorch_kernels_list(const config::Resolved& resolved) {
  const Counts counts = counts_of(resolved);
  std::string text = "| operation | pass | eager | compiled |\n|---|---|---|---|\n";
  for (const auto* rows : {&counts.block, &counts.outer, &counts.update}) {
    for (const OperationCost& row : *rows) {
      const PyTorchKernels eager = pytorch_kernels(counts.step, row, PyTorchMode::eager);
      const PyTorchKernels compiled = pytorch_kernels(counts.step, row, PyTorchMode::compiled);
      if (eager.kernels.empty() && compiled.kernels.empty()) continue;
      text += fmt::format("| {} | {} | {} | {} |\n", name_of(row.operation, counts.step.model), name_of(row.pass),
                          listed(eager), listed(compiled));
    }
  }
  return text;
}

}  // namespace troika::commands
