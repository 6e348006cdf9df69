#include "planner/published_rows_test_support.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "config/presets.h"
#include "planner/step_costs.h"
#include "schedule/build/builder.h"
#include "schedule/simulate/simulator.h"
#include "schedule/trace/summary.h"

namespace troika::planner {

namespace {

using Attention = PublishedRow::Attention;
constexpr auto full = config::Recompute::full, selective = config::Recompute::selective;

config::ModelSettings gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  config::ModelSettings model;
  model.architecture = config::Family::gpt2;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = heads;
  model.head_dim = hidden / heads;
  model.ffn = 4 * hidden;
  model.vocab = 51200;
  model.max_positions = 2048;
  return model;
}

Layout layout(int dp, int pp, int tp, int virtual_stages, std::int64_t micro, std::int64_t global,
              config::Recompute recompute) {
  Layout l;
  l.dp = dp;
  l.pp = pp;
  l.tp = tp;
  l.virtual_stages = virtual_stages;
  l.schedule = virtual_stages > 1 ? config::Schedule::interleaved : config::Schedule::one_f_one_b;
  l.micro = micro;
  l.global = global;
  l.recompute = recompute;
  l.precision = config::Precision::fp16;
  return l;
}

PublishedRow megatron(const std::string& name, const config::ModelSettings& model, const Layout& layout,
                      double seconds) {
  return {name, model, 2048, layout, "a100-80", Attention::in_memory, layout.recompute == selective, seconds};
}

PublishedRow torchtitan(int gpus, double tokens_per_gpu) {
  Layout l = layout(gpus, 1, 1, 1, 2, 2 * gpus, selective);
  l.zero = 3;
  l.precision = config::Precision::bf16;
  return {fmt::format("8B on {}", gpus), config::find_preset("llama3-8b"), 8192, l, "h100", Attention::fused, false,
          2 * 8192 / tokens_per_gpu};
}

}  // namespace

const std::vector<PublishedRow>& published_rows() {
  static const std::vector<PublishedRow> rows = {
      megatron("1.7B", gpt(24, 2304, 24), layout(32, 1, 1, 1, 16, 512, full), 3.53),
      megatron("7.5B", gpt(36, 4096, 32), layout(32, 1, 4, 1, 16, 512, full), 3.70),
      megatron("39.1B", gpt(48, 8192, 64), layout(32, 2, 8, 1, 4, 1536, full), 14.45),
      megatron("145.6B", gpt(80, 12288, 96), layout(24, 8, 8, 2, 2, 2304, full), 24.82),
      megatron("529.6B", gpt(105, 20480, 128), layout(9, 35, 8, 3, 1, 2520, full), 54.08),
      megatron("22B selective", gpt(48, 6144, 64), layout(1, 1, 8, 1, 4, 4, selective), 1.10),
      megatron("22B full", gpt(48, 6144, 64), layout(1, 1, 8, 1, 4, 4, full), 1.42),
      megatron("530B selective", gpt(105, 20480, 128), layout(1, 35, 8, 3, 1, 280, selective), 37.83),
      megatron("530B full", gpt(105, 20480, 128), layout(1, 35, 8, 3, 1, 280, full), 49.05),
      torchtitan(8, 5762),
      torchtitan(128, 5605),
  };
  return rows;
}

Question question_of(const PublishedRow& row, const machine::Reach& reach) {
  Question q;
  q.settings.model = row.model;
  q.settings.batch.seq_len = row.seq_len;
  q.settings.parallel.sequence_parallel = row.sequence_parallel;
  q.settings.parallel.reproducible = config::Reproducible::off;  // these programs add floats
  q.settings.comm.backend = config::Backend::nccl;
  q.global = row.layout.global;
  const machine::Accelerator& kind = machine::find_accelerator(row.accelerator, "");
  machine::Host host = host_of(kind, 8, reach);
  host.count = row.layout.world() / 8;
  if (row.attention == Attention::in_memory) {
    for (machine::Rates* rates : {&host.rates, &host.alone}) {
      rates->set_attention_share(0.5);  // products over the whole mask, of which half counts
      rates->score_bytes = 13;       // written; read and written by softmax and by dropout, its mask; read
    }
  }
  q.cluster.hosts = {host};
  q.cluster.network = network_of(kind, reach);
  q.world = row.layout.world();
  return q;
}

double predicted_seconds(const PublishedRow& row, const machine::Reach& reach) {
  const auto estimate = estimate_layout(question_of(row, reach), row.layout);
  if (!estimate) throw base::BugError("the settings do not allow the layout of " + row.name);
  return estimate->time.step;
}

double bubble_of_balanced_pipeline(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t micro,
                                   int microbatches, config::Schedule schedule, int virtual_stages) {
  constexpr int stages = 8;
  PublishedRow row = megatron("", gpt(layers, hidden, heads),
                              layout(1, stages, 1, 1, micro, micro * microbatches, config::Recompute::none), 0);
  row.seq_len = 1024;
  const Question q = question_of(row, machine::fitted_reach());
  shape::MicrobatchShape microbatch{shape::MicrobatchRows::equal(micro, row.seq_len)};
  microbatch.precision = config::Precision::fp16;
  const shape::Trained all;
  const PassShape shape{q.settings.model, microbatch, 1, shape::SavedActivations::all, all};
  const SegmentSeconds block = model_seconds(shape, q.cluster.hosts.front().rates, {}, {}).blocks.front();
  schedule::StepShape step;
  step.pp = stages;
  step.virtual_stages = virtual_stages;
  step.microbatches = microbatches;
  const int count = stages * virtual_stages, of_each = static_cast<int>(layers + 2) / count;
  for (int stage = 0; stage <= count; ++stage) step.segment_begin.push_back(stage * of_each);
  step.boundary_bytes = 2 * micro * row.seq_len * hidden;
  const schedule::Program program = schedule::build(schedule, step);
  schedule::CostModel costs;
  costs.seconds = [&](int, const schedule::Instruction& i) {
    double pass = 0;
    if (schedule::has_pass(i.kind, schedule::forward_pass)) pass += block.forward.all();
    if (schedule::has_pass(i.kind, schedule::input_pass)) pass += block.input.all();
    if (schedule::has_pass(i.kind, schedule::weight_pass)) pass += block.weight.all();
    return of_each * pass;
  };
  const machine::Link inside = q.cluster.hosts.front().inside;
  costs.link = [&](int, int) { return schedule::Link{inside.latency_seconds, inside.bytes_per_second}; };
  const schedule::StepSummary summary = schedule::summarize(schedule::simulate(program, costs));
  return 1 - summary.total.share(summary.total.compute_seconds);
}

namespace {

using Vector = std::array<double, 3>;

machine::Reach moved(machine::Reach reach, const Vector& by) {  // by the logarithms
  reach.products *= std::exp(by[0]);
  reach.attention *= std::exp(by[1]);
  reach.links *= std::exp(by[2]);
  return reach;
}

// Solves a symmetric positive system by elimination.
Vector solve(std::array<Vector, 3> a, Vector b) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i + 1; j < 3; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (std::size_t k = i; k < 3; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  Vector x{};
  for (std::size_t i = 3; i-- > 0;) {
    x[i] = b[i];
    for (std::size_t k = i + 1; k < 3; ++k) x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  return x;
}

}  // namespace

Linear linear_at(const PublishedRow& row, const machine::Reach& reach) {
  constexpr double small = 0.02;
  Linear linear;
  linear.off = std::log(predicted_seconds(row, reach) / row.seconds);
  for (std::size_t i = 0; i < 3; ++i) {
    Vector by{};
    by[i] = small;
    linear.slope[i] = (std::log(predicted_seconds(row, moved(reach, by)) / row.seconds) - linear.off) / small;
  }
  return linear;
}

machine::Reach fit(const std::vector<Linear>& rows, const machine::Reach& at) {
  std::array<Vector, 3> squares{};
  Vector right{};
  for (const Linear& row : rows) {
    for (std::size_t i = 0; i < 3; ++i) {
      right[i] -= row.slope[i] * row.off;
      for (std::size_t j = 0; j < 3; ++j) squares[i][j] += row.slope[i] * row.slope[j];
    }
  }
  return moved(at, solve(squares, right));
}

}  // namespace troika::planner
