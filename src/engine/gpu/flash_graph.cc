#include "gpu/flash_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"

namespace troika::gpu {
namespace {

using Pass = FlashPlan::Pass;
using Sizes = std::array<std::int64_t, 4>;

CudnnDataType cudnn_type_of(base::Dtype dtype) {
  if (dtype == base::Dtype::bf16) return CudnnDataType::bf16;
  if (dtype == base::Dtype::fp16) return CudnnDataType::fp16;
  throw base::BugError(fmt::format("cuDNN's attention of {}", base::name_of(dtype)));
}

Sizes packed(const Sizes& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}
Sizes turned(Sizes x) {  // its last two dimensions
  std::swap(x[2], x[3]);
  return x;
}

}  // namespace

// A tensor of the graph: a descriptor, and what operations that take it have to know.
struct Node {
  CudnnObject* object = nullptr;
  Sizes sizes{};
};

struct FlashPlan::Builder {
  FlashPlan& plan;
  const FlashShape& shape;
  std::vector<CudnnObject*> operations;
  std::int64_t next_id = static_cast<std::int64_t>(FlashTensor::others);

  const Sizes queries{shape.B, shape.n, shape.T, shape.H}, keys{shape.B, shape.k, shape.S, shape.H},
      scores{shape.B, shape.n, shape.T, shape.S}, rows{shape.B, shape.n, shape.T, 1};

  template <class Value>
  void set(CudnnObject* object, CudnnAttribute name, CudnnType type, const Value& value, const char* what) {
    plan.check(plan.api_->set(object, name, type, 1, &value), what);
  }
  CudnnObject* finished(CudnnObject* object, const char* what) {
    plan.check(plan.api_->finish(object), what);
    return object;
  }

  enum class Kept { memory, value, nowhere };
  Node tensor(std::int64_t id, CudnnDataType type, const Sizes& sizes, const Sizes& strides, Kept kept) {
    if (kept != Kept::nowhere) plan.kept_.push_back(static_cast<FlashTensor>(id));
    CudnnObject* const made = plan.make(CudnnKind::tensor);
    set(made, CudnnAttribute::tensor_alignment, CudnnType::int64, std::int64_t{16}, "a tensor");
    set(made, CudnnAttribute::tensor_type, CudnnType::data_type, type, "a tensor");
    plan.check(plan.api_->set(made, CudnnAttribute::tensor_sizes, CudnnType::int64, 4, sizes.data()), "a tensor");
    plan.check(plan.api_->set(made, CudnnAttribute::tensor_strides, CudnnType::int64, 4, strides.data()), "a tensor");
    set(made, CudnnAttribute::tensor_id, CudnnType::int64, id, "a tensor");
    set(made, CudnnAttribute::tensor_is_virtual, CudnnType::boolean, kept == Kept::nowhere, "a tensor");
    set(made, CudnnAttribute::tensor_is_by_value, CudnnType::boolean, kept == Kept::value, "a tensor");
    return {finished(made, "a tensor"), sizes};
  }
  Node heads(FlashTensor name, const Sizes& sizes, const HeadStrides& s) {
    return tensor(static_cast<std::int64_t>(name), cudnn_type_of(shape.dtype), sizes, {s[0], s[1], s[2], 1}, Kept::memory);
  }
  Node heads_turned(FlashTensor name, const Sizes& sizes, const HeadStrides& s) {
    return tensor(static_cast<std::int64_t>(name), cudnn_type_of(shape.dtype), turned(sizes), {s[0], s[1], 1, s[2]}, Kept::memory);
  }
  Node fp32(FlashTensor name, const Sizes& sizes) {
    return tensor(static_cast<std::int64_t>(name), CudnnDataType::fp32, sizes, packed(sizes), Kept::memory);
  }
  Node value(FlashTensor name, CudnnDataType type) {
    return tensor(static_cast<std::int64_t>(name), type, {1, 1, 1, 1}, {1, 1, 1, 1}, Kept::value);
  }
  Node between(const Sizes& sizes, CudnnDataType type = CudnnDataType::fp32) {
    return tensor(next_id++, type, sizes, packed(sizes), Kept::nowhere);
  }

  void multiply(const Node& a, const Node& b, const Node& c) {
    CudnnObject* const of = plan.make(CudnnKind::matmul);
    set(of, CudnnAttribute::matmul_precision, CudnnType::data_type, CudnnDataType::fp32, "a product");
    finished(of, "a product");
    CudnnObject* const made = plan.make(CudnnKind::matmul_operation);
    set(made, CudnnAttribute::matmul_a, CudnnType::descriptor, a.object, "a product's left");
    set(made, CudnnAttribute::matmul_b, CudnnType::descriptor, b.object, "a product's right");
    set(made, CudnnAttribute::matmul_c, CudnnType::descriptor, c.object, "a product's result");
    set(made, CudnnAttribute::matmul_of, CudnnType::descriptor, of, "a product");
    operations.push_back(finished(made, "a product"));
  }
  void reduce(CudnnReduction how, const Node& x, const Node& y) {
    CudnnObject* const of = plan.make(CudnnKind::reduction);
    set(of, CudnnAttribute::reduction_operator, CudnnType::reduction, how, "a sum");
    set(of, CudnnAttribute::reduction_precision, CudnnType::data_type, CudnnDataType::fp32, "a sum");
    finished(of, "a sum");
    CudnnObject* const made = plan.make(CudnnKind::reduction_operation);
    set(made, CudnnAttribute::reduction_x, CudnnType::descriptor, x.object, "a sum");
    set(made, CudnnAttribute::reduction_y, CudnnType::descriptor, y.object, "a sum");
    set(made, CudnnAttribute::reduction_of, CudnnType::descriptor, of, "a sum");
    operations.push_back(finished(made, "a sum"));
  }
  void pointwise(CudnnPointwise how, const Node& x, const Node* b, const Node* t, const Node& y,
                 CudnnDataType precision = CudnnDataType::fp32, std::int64_t axis = -1) {
    CudnnObject* const of = plan.make(CudnnKind::pointwise);
    set(of, CudnnAttribute::pointwise_mode, CudnnType::pointwise, how, "an elementwise operation");
    set(of, CudnnAttribute::pointwise_precision, CudnnType::data_type, precision, "an elementwise operation");
    if (axis >= 0) set(of, CudnnAttribute::pointwise_axis, CudnnType::int64, axis, "an index");
    finished(of, "an elementwise operation");
    CudnnObject* const made = plan.make(CudnnKind::pointwise_operation);
    set(made, CudnnAttribute::pointwise_of, CudnnType::descriptor, of, "an elementwise operation");
    set(made, CudnnAttribute::pointwise_x, CudnnType::descriptor, x.object, "an elementwise operation");
    if (b != nullptr) set(made, CudnnAttribute::pointwise_b, CudnnType::descriptor, b->object, "an elementwise operation");
    if (t != nullptr) set(made, CudnnAttribute::pointwise_t, CudnnType::descriptor, t->object, "an elementwise operation");
    set(made, CudnnAttribute::pointwise_y, CudnnType::descriptor, y.object, "an elementwise operation");
    operations.push_back(finished(made, "an elementwise operation"));
  }
  Node with(CudnnPointwise how, const Node& x, const Node& b) {
    const Node y = between(x.sizes);
    pointwise(how, x, &b, nullptr, y);
    return y;
  }
  Node of(CudnnPointwise how, const Node& x) {
    const Node y = between(x.sizes);
    pointwise(how, x, nullptr, nullptr, y);
    return y;
  }
  Node reshaped(const Node& x, const Node& y) {
    CudnnObject* const made = plan.make(CudnnKind::reshape_operation);
    set(made, CudnnAttribute::reshape_x, CudnnType::descriptor, x.object, "a view");
    set(made, CudnnAttribute::reshape_y, CudnnType::descriptor, y.object, "a view");
    operations.push_back(finished(made, "a view"));
    return y;
  }
  Node transposed(const Node& x) {  // rounded to the operands' dtype
    return reshaped(x, tensor(next_id++, cudnn_type_of(shape.dtype), turned(x.sizes), turned(packed(x.sizes)), Kept::nowhere));
  }

  // Scores of keys behind the query's own become the lowest number.
  Node seen(const Node& x) {
    if (shape.mask == tensor::AttentionMask::none) return x;
    Node row = between(x.sizes, CudnnDataType::int32);
    const Node column = between(x.sizes, CudnnDataType::int32);
    pointwise(CudnnPointwise::index, x, nullptr, nullptr, row, CudnnDataType::fp32, 2);
    pointwise(CudnnPointwise::index, x, nullptr, nullptr, column, CudnnDataType::fp32, 3);
    if (shape.S != shape.T) {
      const Node by = value(FlashTensor::shift, CudnnDataType::int32), shifted = between(x.sizes, CudnnDataType::int32);
      pointwise(CudnnPointwise::add, row, &by, nullptr, shifted, CudnnDataType::int32);
      row = shifted;
    }
    const Node sees = between(x.sizes, CudnnDataType::boolean), y = between(x.sizes);
    pointwise(CudnnPointwise::greater_or_equal, row, &column, nullptr, sees, CudnnDataType::boolean);
    const Node lowest = value(FlashTensor::lowest, CudnnDataType::fp32);
    pointwise(CudnnPointwise::select, x, &lowest, &sees, y);
    return y;
  }

  void forward() {
    const Node q = heads(FlashTensor::q, queries, shape.q), k = heads_turned(FlashTensor::k, keys, shape.key);
    const Node v = heads(FlashTensor::v, keys, shape.value), out = heads(FlashTensor::out, queries, shape.out);
    const Node lse = fp32(FlashTensor::lse, rows), product = between(scores), largest = between(rows), sum = between(rows);
    multiply(q, k, product);
    const Node s = seen(with(CudnnPointwise::multiply, product, value(FlashTensor::scale, CudnnDataType::fp32)));
    reduce(CudnnReduction::max, s, largest);
    const Node exps = of(CudnnPointwise::exp, with(CudnnPointwise::subtract, s, largest));
    reduce(CudnnReduction::add, exps, sum);
    const Node log = of(CudnnPointwise::log, sum);
    pointwise(CudnnPointwise::add, largest, &log, nullptr, lse);
    const Node weights = between(scores, cudnn_type_of(shape.dtype));
    pointwise(CudnnPointwise::divide, exps, &sum, nullptr, weights);
    multiply(weights, v, out);
  }

  // With fewer key/value heads than query heads, adds up the gradients of the query heads that read one.
  void key_gradient(const Node& left, const Node& right, FlashTensor name) {
    const Node to = heads(name, keys, shape.key_gradient);
    if (shape.n == shape.k) return multiply(left, right, to);
    const Node of_each = between({shape.B, shape.n, shape.S, shape.H}, cudnn_type_of(shape.dtype));
    multiply(left, right, of_each);
    reduce(CudnnReduction::add, of_each, to);
  }

  void backward(Repeatable repeatable) {
    const Node q = heads(FlashTensor::q, queries, shape.q), k = heads_turned(FlashTensor::k, keys, shape.key);
    const Node v = heads_turned(FlashTensor::v, keys, shape.value), out = heads(FlashTensor::out, queries, shape.out);
    const Node dout = heads(FlashTensor::dout, queries, shape.out), dq = heads(FlashTensor::dq, queries, shape.out);
    const Node lse = fp32(FlashTensor::lse, rows), dots = fp32(FlashTensor::dots, rows), sum = between(rows);
    const Node scale = value(FlashTensor::scale, CudnnDataType::fp32), one = value(FlashTensor::one, CudnnDataType::fp32);
    reduce(CudnnReduction::add, with(CudnnPointwise::multiply, dout, out), sum);
    pointwise(CudnnPointwise::multiply, sum, &one, nullptr, dots);

    const Node product = between(scores), dweights = between(scores);
    multiply(q, k, product);
    const Node s = with(CudnnPointwise::subtract, with(CudnnPointwise::multiply, product, scale), lse);
    const Node weights = of(CudnnPointwise::exp, seen(s));
    key_gradient(transposed(weights), dout, FlashTensor::dv);

    multiply(dout, v, dweights);
    const Node unscaled = with(CudnnPointwise::multiply, with(CudnnPointwise::subtract, dweights, dots), weights);
    const Node dscores = with(CudnnPointwise::multiply, unscaled, scale);
    key_gradient(transposed(dscores), q, FlashTensor::dk);

    const HeadStrides& ks = shape.key;
    const Node keys_again = reshaped(k, tensor(next_id++, cudnn_type_of(shape.dtype), keys, {ks[0], ks[1], ks[2], 1}, Kept::nowhere));
    if (repeatable == Repeatable::yes) return multiply(dscores, keys_again, dq);
    const Node dq_sum = fp32(FlashTensor::dq_sum, queries);
    multiply(dscores, keys_again, dq_sum);
    pointwise(CudnnPointwise::identity, dq_sum, nullptr, nullptr, dq);
  }
};

FlashPlan::FlashPlan(std::shared_ptr<const CudnnApi> api, CudnnHandle* handle, CudnnObject* device, Pass pass,
                     const FlashShape& shape, Repeatable repeatable)
    : api_(std::move(api)), shift_(static_cast<std::int32_t>(shape.S - shape.T)) {
  Builder builder{*this, shape, {}};
  if (pass == Pass::forward)
    builder.forward();
  else
    builder.backward(repeatable);
  CudnnObject* const graph = make(CudnnKind::graph);
  check(api_->set(graph, CudnnAttribute::graph_operations, CudnnType::descriptor,
                  static_cast<std::int64_t>(builder.operations.size()), builder.operations.data()),
        "a graph");
  if (handle != nullptr) builder.set(graph, CudnnAttribute::graph_handle, CudnnType::handle, handle, "a graph");
  if (const CudnnStatus status = api_->finish(graph); status != CudnnStatus::success) {
    reason_ = api_->status_name(status);
    return;
  }
  choose(handle, device, graph, repeatable);
}

void FlashPlan::choose(CudnnHandle* handle, CudnnObject* device, CudnnObject* graph, Repeatable repeatable) {
  constexpr std::int64_t most = 16;
  CudnnObject* const heuristic = make(CudnnKind::heuristic);
  const CudnnHeuristic mode = CudnnHeuristic::a;
  check(api_->set(heuristic, CudnnAttribute::heuristic_graph, CudnnType::descriptor, 1, &graph), "a choice");
  check(api_->set(heuristic, CudnnAttribute::heuristic_mode, CudnnType::heuristic, 1, &mode), "a choice");
  if (device != nullptr)
    check(api_->set(heuristic, CudnnAttribute::heuristic_device, CudnnType::descriptor, 1, &device), "a choice");
  std::array<CudnnObject*, most> configs{};
  for (CudnnObject*& config : configs) config = make(CudnnKind::engine_config);
  std::int64_t found = 0;
  CudnnStatus status = api_->finish(heuristic);
  if (status == CudnnStatus::success)
    status = api_->get(heuristic, CudnnAttribute::heuristic_results, CudnnType::descriptor, most, &found, configs.data());
  reason_ = status != CudnnStatus::success ? api_->status_name(status) : "no kernel";
  for (std::int64_t i = 0; status == CudnnStatus::success && i < std::min(found, most) && plan_ == nullptr; ++i) {
    CudnnObject *engine = make(CudnnKind::engine), *config = configs[static_cast<std::size_t>(i)];
    std::array<CudnnNote, 16> notes{};
    std::int64_t count = 0;
    if (api_->get(config, CudnnAttribute::config_engine, CudnnType::descriptor, 1, &count, &engine) != CudnnStatus::success ||
        api_->get(engine, CudnnAttribute::engine_notes, CudnnType::note, 16, &count, notes.data()) != CudnnStatus::success)
      continue;
    if (repeatable == Repeatable::yes && std::count(notes.begin(), notes.begin() + count, CudnnNote::nondeterministic) > 0) {
      reason_ = "no kernel that gives equal bits twice";
      continue;
    }
    CudnnObject* const plan = make(CudnnKind::plan);
    check(api_->set(plan, CudnnAttribute::plan_config, CudnnType::descriptor, 1, &config), "a plan");
    if (handle != nullptr) check(api_->set(plan, CudnnAttribute::plan_handle, CudnnType::handle, 1, &handle), "a plan");
    if (device != nullptr) check(api_->set(plan, CudnnAttribute::plan_device, CudnnType::descriptor, 1, &device), "a plan");
    if (const CudnnStatus made = api_->finish(plan); made != CudnnStatus::success) {
      reason_ = api_->status_name(made);
      continue;
    }
    check(api_->get(plan, CudnnAttribute::plan_workspace, CudnnType::int64, 1, &count, &workspace_bytes_), "a plan");
    plan_ = plan;
  }
}

FlashPlan::~FlashPlan() {
  for (auto object = objects_.rbegin(); object != objects_.rend(); ++object) api_->end_object(*object);
}

CudnnObject* FlashPlan::make(CudnnKind kind) {
  CudnnObject* made = nullptr;
  check(api_->make_object(kind, &made), "a description");
  objects_.push_back(made);
  return made;
}

void FlashPlan::check(CudnnStatus status, const char* what) const {
  if (status != CudnnStatus::success)
    throw base::BugError(fmt::format("cuDNN {} failed at {} of attention: {}", api_->version, what, api_->status_name(status)));
}

void FlashPlan::run(CudnnHandle* handle, const std::map<FlashTensor, void*>& pointers, void* workspace, float scale) const {
  float one = 1, lowest = std::numeric_limits<float>::lowest();
  std::int32_t shift = shift_;
  std::map<FlashTensor, void*> all = pointers;
  all.insert({{FlashTensor::scale, &scale}, {FlashTensor::one, &one}, {FlashTensor::lowest, &lowest}, {FlashTensor::shift, &shift}});
  std::vector<std::int64_t> ids;
  std::vector<void*> data;
  for (const FlashTensor name : kept_) {
    ids.push_back(static_cast<std::int64_t>(name));
    data.push_back(all.at(name));
  }
  CudnnObject* pack = nullptr;
  check(api_->make_object(CudnnKind::variant_pack, &pack), "its tensors");
  const auto count = static_cast<std::int64_t>(ids.size());
  check(api_->set(pack, CudnnAttribute::pack_pointers, CudnnType::pointer, count, data.data()), "its tensors");
  check(api_->set(pack, CudnnAttribute::pack_ids, CudnnType::int64, count, ids.data()), "its tensors");
  check(api_->set(pack, CudnnAttribute::pack_workspace, CudnnType::pointer, 1, &workspace), "its tensors");
  check(api_->finish(pack), "its tensors");
  const CudnnStatus status = api_->execute(handle, plan_, pack);
  api_->end_object(pack);
  check(status, "a run");
}

}  // namespace troika::gpu
