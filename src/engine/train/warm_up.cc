#include "train/warm_up.h"

#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "comm/channel.h"
#include "inference/evaluator.h"
#include "kernels/flat.h"
#include "kernels/grid.h"
#include "model/decoder.h"
#include "plan/memory.h"
#include "plan/memory_check.h"
#include "shape/layout.h"
#include "sharding/context_group.h"
#include "sharding/tensor_group.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "train/products_text.h"

namespace troika::train {

// A group that nobody is in: what is received stays what it was.
class MuteChannel final : public comm::Channel {
 public:
  MuteChannel(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::string& name() const override { return name_; }
  comm::Transfer send(const tensor::Tensor&, int, std::uint32_t) override { return {}; }
  comm::Transfer recv(const tensor::Tensor&, int, std::uint32_t) override { return {}; }
  void abort(const base::Text&) override {}

 private:
  const int rank_, size_;
  const std::string name_ = "mute";
};

namespace {

// One of each kind: all blocks are alike.
std::set<int> segments_of(const plan::Plan& plan, const mesh::Coordinate& at) {
  std::set<int> segments;
  const int head = plan.program.segments() - 1;
  bool has_block = false;
  for (int stage = 0; stage < plan.program.stages(); ++stage) {
    if (plan.program.pp_rank_of_stage[static_cast<std::size_t>(stage)] != at.pp) continue;
    for (int g = plan.program.first_segment(stage); g < plan.program.end_segment(stage); ++g) {
      const bool block = g > 0 && g < head;
      if (!block || !has_block) segments.insert(g);
      has_block = has_block || block;
    }
  }
  return segments;
}

model::Tokens tokens_of(const plan::Plan& plan, const sharding::ContextGroup& context, const tensor::Device& device) {
  data::TokenBatch batch;
  batch.sequences = plan.largest_microbatch();
  batch.inputs.assign(static_cast<std::size_t>(shape::count_rows(batch.sequences, 0, 1)), 0);
  batch.targets = batch.inputs;
  return inference::tokens_of(batch, context, device);
}

// A microbatch's way through one segment. What is not trained has no gradients.
class Pass {
 public:
  Pass(const model::Decoder& segment, const tensor::Tensor& x_mD, const model::Tokens& tokens, bool trained,
       shape::SavedActivations activations)
      : segment_(segment), tokens_(tokens) {
    for (const tensor::Tensor& parameter : segment.parameters()) parameter.zero();
    result_ = segment.forward(x_mD, tokens, activations);
    if (result_.y_mD.defined()) dy_mD_ = tensor::zeros(result_.y_mD.sizes(), result_.y_mD.type());
    if (trained) gradients_ = segment.new_gradients();
  }
  void backward() {
    segment_.backward_input(dy_mD_, tokens_, result_);
    if (!gradients_.empty()) segment_.backward_weight(gradients_, tokens_, result_);
  }

 private:
  const model::Decoder& segment_;
  const model::Tokens& tokens_;
  model::DecoderResult result_;
  tensor::Tensor dy_mD_;
  std::vector<tensor::Tensor> gradients_;
};

// Gradients are summed between the passes of microbatches: a few as they are, more of them as integers.
void add_up(const tensor::Device& device) {
  constexpr std::int64_t elements = 4096;
  const kernels::GridStretches grid{{elements, 20}};
  const tensor::Tensor x = tensor::zeros({elements}, tensor::TensorType(tensor::Dtype::fp32, device));
  const tensor::Tensor sum = tensor::empty({elements}, tensor::TensorType(tensor::Dtype::int64, device));
  for (const kernels::Into into : {kernels::Into::fresh, kernels::Into::sum}) kernels::add_on_grid(sum, x, grid, into);
  kernels::from_integers(sum, grid, x);
  kernels::add_into(x, x.clone());
  kernels::round_to_grid(x, grid, {});
}

// A rank's groups, which pass nothing on, and what its segments are made and fed with.
class Microbatch {
 public:
  Microbatch(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device)
      : plan_(plan), tensor_ranks_(at.tp, plan.shape.tp), context_ranks_(at.cp, plan.shape.cp) {
    if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(tensor_ranks_, plan.sequence_parallel());
    if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(context_ranks_);
    options_.seq_len = plan.resolved.batch.seq_len;
    options_.device = device;
    options_.dtype = model::dtype_of(plan.precision());
    options_.parallel = {&tensor_group_, &context_group_};
    tokens_ = tokens_of(plan, context_group_, device);
    x_mD_ = tensor::zeros({tensor_group_.rows(tokens_.M).count, plan.model().hidden}, tensor::TensorType(options_.dtype, device));
  }
  model::Decoder decoder(int segment) const { return {plan_.model(), segment, segment + 1, options_}; }
  Pass pass(const model::Decoder& one, int segment) const {
    const auto saved = plan_.saved_activations();
    return {one, segment == 0 ? tensor::Tensor() : x_mD_, tokens_, plan_.trained.own(segment),
            saved == shape::SavedActivations::none ? shape::SavedActivations::all : saved};
  }

 private:
  const plan::Plan& plan_;
  MuteChannel tensor_ranks_, context_ranks_;
  sharding::TensorGroup tensor_group_;
  sharding::ContextGroup context_group_;
  model::Decoder::Options options_;
  model::Tokens tokens_;
  tensor::Tensor x_mD_;
};

// In pieces, as a run's buffers are.
std::vector<std::shared_ptr<tensor::Memory>> hold(std::int64_t bytes, const tensor::Device& device) {
  constexpr std::int64_t piece_bytes = 256 << 20;
  std::vector<std::shared_ptr<tensor::Memory>> held;
  for (; bytes > 0; bytes -= piece_bytes)
    held.push_back(tensor::allocate(static_cast<std::size_t>(std::min(bytes, piece_bytes)), device));
  return held;
}

std::int64_t used_bytes(const tensor::Device& device) {
  tensor::synchronize(device);
  return device.accelerator().memory(device).used;
}

}  // namespace

void warm_up(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device) {
  try {
    const Microbatch microbatch(plan, at, device);
    for (const int segment : segments_of(plan, at)) {
      const model::Decoder one = microbatch.decoder(segment);
      microbatch.pass(one, segment).backward();
    }
    add_up(device);
    tensor::synchronize(device);
  } catch (const std::bad_alloc&) {
  }
}

ProvedMemory prove_microbatch(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device,
                              std::int64_t reserved) {
  const int grid_rank = plan.program.grid_rank(at.pp, at.dp);
  const plan::Memory memory = plan::memory_in(plan, grid_rank, plan::Room::Where::gpu);
  ProvedMemory proved;
  proved.planned = memory.with_saving() - memory.program;
  warm_up(plan, at, device);  // what libraries take is there from here on
  device.accelerator().begin_peaks(device);
  const std::int64_t before = used_bytes(device);
  try {
    const Microbatch microbatch(plan, at, device);
    for (const int segment : segments_of(plan, at)) {
      const model::Decoder one = microbatch.decoder(segment);
      std::int64_t own = 0;
      {
        const Pass pass = microbatch.pass(one, segment);
        own = used_bytes(device) - before;
      }
      const std::int64_t operation = plan::gpu_operation_bytes(plan, at, segment);
      const auto beside = hold(proved.planned - operation - own, device), more = hold(reserved, device);
      microbatch.pass(one, segment).backward();
      tensor::synchronize(device);
    }
    proved.suffices = true;
  } catch (const std::bad_alloc&) {
    tensor::synchronize(device);
  }
  proved.peak = device.accelerator().memory(device).used_peak - before - reserved;
  device.accelerator().begin_peaks(device);
  return proved;
}

namespace {

// As in blocks with this window.
sharding::LocalAttention attention_of(const plan::Plan& plan, const mesh::Coordinate& at, std::int64_t t, std::int64_t window,
                                      const tensor::Device& device) {
  const config::ModelSettings& model = plan.model();
  const shape::LocalWidths widths = shape::local_widths(model, {at.tp, plan.shape.tp});
  const tensor::TensorType type{model::dtype_of(plan.precision()), device};
  const std::int64_t n = widths.heads.count, k = widths.kv_heads.count, H = model.head_dim;
  sharding::LocalAttention local;
  local.q_1tnH = tensor::empty({1, t, n, H}, type);
  local.k_1tkH = tensor::empty({1, t, k, H}, type);
  local.v_1tkH = tensor::empty({1, t, n + 2 * k, H}, type).narrow(2, n + k, k);  // as the joint projection leaves it
  local.kv_of_head = shape::kv_of_head(model, widths);
  local.rule = {model.attention_scale, window};
  return local;
}

}  // namespace

base::Text attention_note(const plan::Plan& plan, const mesh::Coordinate& at, const tensor::Device& device) {
  if (device.is_cpu()) return {};
  MuteChannel ranks(at.cp, plan.shape.cp);
  const sharding::ContextGroup context = plan.shape.cp > 1 ? sharding::ContextGroup(ranks) : sharding::ContextGroup();
  const sharding::Sequences sequences = plan.largest_microbatch();
  const std::int64_t t = shape::count_rows(sequences, at.cp, plan.shape.cp);
  std::set<std::int64_t> windows;
  for (const shape::BlockKind& kind : shape::BlockKinds(plan.model()).kinds)
    if (kind.attends()) windows.insert(shape::window_of(plan.model(), kind));
  base::Text all;
  for (const std::int64_t window : windows)
    for (const base::Text& reason : context.why_products(attention_of(plan, at, t, window, device), sequences))
      all = all.english.empty() ? reason : base::say("{}; {}", all, reason);
  if (all.english.empty()) return {};
  return base::say("note: attention uses chunked matrix products: {}", all);
}

namespace {

constexpr const char* file_name = "products.txt";

std::size_t use(const tensor::Device& device, const ProductAlgorithms& choices) {
  if (device.is_cpu()) return 0;
  std::vector<tensor::ProductChoice> all;
  for (const auto& [kind, algorithm] : choices) all.push_back({kind, algorithm});
  return device.accelerator().use_products(device, all);
}

std::string measured(const tensor::Device& device, const std::function<void()>& passes) {
  ProductAlgorithms mine;
  if (!device.is_cpu())
    for (const auto& [kind, algorithm] : device.accelerator().measure_products(device, passes)) mine[kind] = algorithm;
  return to_text(mine);
}

}  // namespace

void choose_products(Session& session, const RankContext& context, const tensor::Device& device,
                     const std::function<void()>& passes) {
  const std::string& folder = context.resolved.settings.train.out;
  const std::string kept = session.collectives().broadcast_text("kept products", [&] {
    return folder.empty() ? "" : base::text_of_run(folder, file_name, base::most_settings_bytes).value_or("");
  });
  ProductAlgorithms choices;
  add_products(kept, &choices);
  if (use(device, choices) == 0 && !choices.empty() && !device.is_cpu())
    say(context, base::say("note: the algorithms for matrix products in {}/{} were chosen for hardware other than {}; they are measured again, and bits may differ from before",
                           folder, file_name, tensor::describe(device)));
  for (const std::string& of_rank :
       session.collectives().all_gather_text("measured products", measured(device, passes)))
    add_products(of_rank, &choices);
  use(device, choices);
  if (context.identity.world_rank == 0 && !folder.empty() && to_text(choices) != kept)
    base::write_file_atomic(folder + "/" + file_name, to_text(choices));
}

}  // namespace troika::train
