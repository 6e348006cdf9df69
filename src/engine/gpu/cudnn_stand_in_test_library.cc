// Stands in for cuDNN over the streams of the stand-in driver: takes graphs of the operations that attention is made of and computes
// them by loops in fp32, one operation after the other, on tensors of four dimensions.
//
// TROIKA_STAND_IN_CUDNN (92800): its version.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "cuda/number.h"
#include "gpu/cudnn_api.h"
#include "tensor/fake_lane_test_support.h"

namespace {
using namespace troika::gpu;
using troika::tensor::FakeLane;
using troika::tensor::FakeWork;
using Name = CudnnAttribute;

constexpr auto bad_parameter = static_cast<CudnnStatus>(2000), not_supported = static_cast<CudnnStatus>(3000);

struct Object {
  CudnnKind kind;
  bool finished = false;
  std::map<Name, std::vector<char>> values;

  template <class Value = std::int64_t>
  std::vector<Value> all(Name name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<Value> list(found->second.size() / sizeof(Value));
    std::memcpy(list.data(), found->second.data(), found->second.size());
    return list;
  }
  template <class Value = std::int64_t>
  Value one(Name name, Value value = {}) const {
    const auto found = values.find(name);
    if (found != values.end() && found->second.size() >= sizeof value) std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
  Object* object(Name name) const { return one<Object*>(name); }
};

std::size_t bytes_of(CudnnType type) {
  switch (type) {
    case CudnnType::boolean:
    case CudnnType::character:
      return 1;
    case CudnnType::handle:
    case CudnnType::int64:
    case CudnnType::pointer:
    case CudnnType::descriptor:
      return 8;
    default:
      return 4;
  }
}

struct Tensor {
  std::vector<std::int64_t> sizes, strides;
  CudnnDataType type = CudnnDataType::fp32;
  char* data = nullptr;          // in memory
  std::vector<float> values;     // else
  explicit Tensor(const Object& of)
      : sizes(of.all(Name::tensor_sizes)), strides(of.all(Name::tensor_strides)), type(of.one<CudnnDataType>(Name::tensor_type)) {
    if (!of.one<bool>(Name::tensor_is_virtual)) return;
    std::int64_t count = 1;
    for (int d = 0; d < 4; ++d) count += (sizes[d] - 1) * strides[d];
    values.resize(static_cast<std::size_t>(count));
  }
  // A dimension of size 1, and a key/value head that several query heads share, are read repeatedly.
  std::int64_t place(const std::array<std::int64_t, 4>& at, std::int64_t heads) const {
    std::int64_t place = 0;
    for (int d = 0; d < 4; ++d) {
      std::int64_t i = sizes[d] == 1 ? 0 : at[d];
      if (d == 1 && sizes[1] != 1 && sizes[1] < heads) i = at[1] / (heads / sizes[1]);
      place += i * strides[d];
    }
    return place;
  }
  float read(const std::array<std::int64_t, 4>& at, std::int64_t heads) const {
    const std::int64_t i = place(at, heads);
    if (data == nullptr) return values[static_cast<std::size_t>(i)];
    if (type == CudnnDataType::int32) return static_cast<float>(reinterpret_cast<const std::int32_t*>(data)[i]);
    if (type == CudnnDataType::fp32) return reinterpret_cast<const float*>(data)[i];
    if (type == CudnnDataType::bf16) return troika::cuda::to_float(reinterpret_cast<const troika::cuda::Bf16*>(data)[i]);
    return troika::cuda::to_float(reinterpret_cast<const troika::cuda::Fp16*>(data)[i]);
  }
  void write(const std::array<std::int64_t, 4>& at, float x) {
    using troika::cuda::Bf16, troika::cuda::Fp16, troika::cuda::rounded, troika::cuda::to_float;
    const std::int64_t i = place(at, sizes[1]);
    const bool halves = type == CudnnDataType::bf16 || type == CudnnDataType::fp16;
    if (data == nullptr)
      values[static_cast<std::size_t>(i)] =
          type == CudnnDataType::bf16 ? to_float(rounded<Bf16>(x)) : type == CudnnDataType::fp16 ? to_float(rounded<Fp16>(x)) : x;
    else if (!halves)
      reinterpret_cast<float*>(data)[i] = x;
    else if (type == CudnnDataType::bf16)
      reinterpret_cast<Bf16*>(data)[i] = rounded<Bf16>(x);
    else
      reinterpret_cast<Fp16*>(data)[i] = rounded<Fp16>(x);
  }
  template <class Visit>
  void each(const Visit& visit) const {
    std::array<std::int64_t, 4> at{};
    for (at[0] = 0; at[0] < sizes[0]; ++at[0])
      for (at[1] = 0; at[1] < sizes[1]; ++at[1])
        for (at[2] = 0; at[2] < sizes[2]; ++at[2])
          for (at[3] = 0; at[3] < sizes[3]; ++at[3]) visit(at);
  }
};

float pointwise(CudnnPointwise how, float x, float b, float t) {
  switch (how) {
    case CudnnPointwise::add:
      return x + b;
    case CudnnPointwise::multiply:
      return x * b;
    case CudnnPointwise::divide:
      return x / b;
    case CudnnPointwise::subtract:
      return x - b;
    case CudnnPointwise::exp:
      return std::exp(x);
    case CudnnPointwise::log:
      return std::log(x);
    case CudnnPointwise::greater_or_equal:
      return x >= b ? 1.0f : 0.0f;
    case CudnnPointwise::select:
      return t != 0 ? x : b;
    default:
      return x;
  }
}

// A graph with its pointers. What is queued keeps no descriptor: its owner may end them.
class Run final : public FakeWork {
 public:
  bool add(const Object& graph, const Object& pack) {
    const auto ids = pack.all(Name::pack_ids);
    const auto pointers = pack.all<char*>(Name::pack_pointers);
    for (std::size_t i = 0; i < ids.size(); ++i) given_[ids[i]] = pointers[i];
    for (const Object* operation : graph.all<Object*>(Name::graph_operations)) {
      Step step;
      step.kind = operation->kind;
      const auto take = [&](Name name) { return operation->values.count(name) == 0 ? -1 : tensor(*operation->object(name)); };
      if (step.kind == CudnnKind::matmul_operation) {
        step.tensors = {take(Name::matmul_a), take(Name::matmul_b), -1, take(Name::matmul_c)};
      } else if (step.kind == CudnnKind::reduction_operation) {
        step.tensors = {take(Name::reduction_x), -1, -1, take(Name::reduction_y)};
        step.max = operation->object(Name::reduction_of)->one<CudnnReduction>(Name::reduction_operator) == CudnnReduction::max;
      } else if (step.kind == CudnnKind::reshape_operation) {
        step.tensors = {take(Name::reshape_x), -1, -1, take(Name::reshape_y)};
      } else {
        const Object& of = *operation->object(Name::pointwise_of);
        step.tensors = {take(Name::pointwise_x), take(Name::pointwise_b), take(Name::pointwise_t), take(Name::pointwise_y)};
        step.how = of.one<CudnnPointwise>(Name::pointwise_mode);
        step.axis = of.one(Name::pointwise_axis, std::int64_t{-1});
      }
      steps_.push_back(step);
    }
    return complete_ && given_.empty();
  }

  bool try_to_do() override {
    for (const Step& step : steps_) {
      const auto of = [&](int which) -> Tensor& { return tensors_.at(step.tensors[static_cast<std::size_t>(which)]); };
      Tensor &x = of(0), &y = of(3);
      if (step.kind == CudnnKind::matmul_operation)
        multiply(x, of(1), y);
      else if (step.kind == CudnnKind::reduction_operation)
        reduce(step.max, x, y);
      else if (step.kind == CudnnKind::reshape_operation)
        y.each([&](const auto& at) { y.write(at, x.read({at[0], at[1], at[3], at[2]}, y.sizes[1])); });  // all of ours transpose
      else
        y.each([&](const auto& at) {
          const auto value = [&](int which) {
            return step.tensors[static_cast<std::size_t>(which)] < 0 ? 0 : of(which).read(at, y.sizes[1]);
          };
          y.write(at, step.how == CudnnPointwise::index ? static_cast<float>(at[static_cast<std::size_t>(step.axis)])
                                                        : pointwise(step.how, x.read(at, y.sizes[1]), value(1), value(2)));
        });
    }
    return true;
  }

 private:
  struct Step {
    CudnnKind kind = CudnnKind::tensor;
    std::array<std::int64_t, 4> tensors{};
    bool max = false;
    CudnnPointwise how = CudnnPointwise::identity;
    std::int64_t axis = -1;
  };

  std::int64_t tensor(const Object& of) {
    const std::int64_t id = of.one(Name::tensor_id);
    if (tensors_.count(id) != 0) return id;
    Tensor& made = tensors_.emplace(id, Tensor(of)).first->second;
    if (of.one<bool>(Name::tensor_is_virtual)) return id;
    const auto found = given_.find(id);
    complete_ = complete_ && found != given_.end();
    if (found == given_.end()) return id;
    made.data = found->second;
    given_.erase(found);
    if (!of.one<bool>(Name::tensor_is_by_value)) return id;
    made.values = {made.read({0, 0, 0, 0}, 1)};  // read before the call returns
    made.data = nullptr;
    return id;
  }

  static void multiply(const Tensor& a, const Tensor& b, Tensor& c) {
    c.each([&](const auto& at) {
      float sum = 0;
      for (std::int64_t i = 0; i < a.sizes[3]; ++i)
        sum += a.read({at[0], at[1], at[2], i}, c.sizes[1]) * b.read({at[0], at[1], i, at[3]}, c.sizes[1]);
      c.write(at, sum);
    });
  }
  static void reduce(bool max, const Tensor& x, Tensor& y) {
    y.each([&](const auto& at) {
      std::array<std::int64_t, 4> begin{}, end{};
      for (std::size_t d = 0; d < 4; ++d) {
        const std::int64_t width = x.sizes[d] / y.sizes[d];  // heads of one group lie side by side
        begin[d] = at[d] * width;
        end[d] = begin[d] + width;
      }
      float total = max ? -INFINITY : 0.0f;
      std::array<std::int64_t, 4> i{};
      for (i[0] = begin[0]; i[0] < end[0]; ++i[0])
        for (i[1] = begin[1]; i[1] < end[1]; ++i[1])
          for (i[2] = begin[2]; i[2] < end[2]; ++i[2])
            for (i[3] = begin[3]; i[3] < end[3]; ++i[3]) {
              const float value = x.read(i, x.sizes[1]);
              total = max ? std::max(total, value) : total + value;
            }
      y.write(at, total);
    });
  }

  std::map<std::int64_t, char*> given_;
  std::map<std::int64_t, Tensor> tensors_;
  std::vector<Step> steps_;
  bool complete_ = true;
};

std::atomic<std::int64_t> attentions{0};  // computed

Object* of(CudnnObject* object) { return static_cast<Object*>(object); }

}  // namespace

namespace troika::gpu {
struct CudnnHandle {
  void* stream = nullptr;
};
}  // namespace troika::gpu

extern "C" {

std::int64_t troika_stand_in_attentions() { return attentions; }
std::size_t cudnnGetVersion() {
  const char* const text = std::getenv("TROIKA_STAND_IN_CUDNN");
  return text == nullptr ? 92800 : std::strtoull(text, nullptr, 10);
}
const char* cudnnGetErrorString(CudnnStatus status) {
  return status == bad_parameter ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}
CudnnStatus cudnnCreate(CudnnHandle** handle) {
  *handle = new CudnnHandle;
  return CudnnStatus::success;
}
CudnnStatus cudnnDestroy(CudnnHandle* handle) {
  delete handle;
  return CudnnStatus::success;
}
CudnnStatus cudnnSetStream(CudnnHandle* handle, void* stream) {
  handle->stream = stream;
  return CudnnStatus::success;
}
CudnnStatus cudnnBackendCreateDescriptor(CudnnKind kind, CudnnObject** object) {
  *object = new Object{kind, false, {}};
  return CudnnStatus::success;
}
CudnnStatus cudnnBackendDestroyDescriptor(CudnnObject* object) {
  delete of(object);
  return CudnnStatus::success;
}
CudnnStatus cudnnBackendSetAttribute(CudnnObject* object, CudnnAttribute name, CudnnType type, std::int64_t count,
                                     const void* values) {
  if (of(object)->finished || (count > 0 && values == nullptr)) return bad_parameter;
  const char* const begin = static_cast<const char*>(values);
  std::vector<char> bytes(begin, begin + static_cast<std::size_t>(count) * bytes_of(type));
  if (type == CudnnType::descriptor)  // only what is finished can be part of another
    for (std::int64_t i = 0; i < count; ++i)
      if (!static_cast<Object* const*>(values)[i]->finished) return bad_parameter;
  of(object)->values[name] = std::move(bytes);
  return CudnnStatus::success;
}
CudnnStatus cudnnBackendFinalize(CudnnObject* object) {
  Object& made = *of(object);
  if (made.finished) return bad_parameter;
  made.finished = true;
  if (made.kind == CudnnKind::tensor && (made.all(Name::tensor_sizes).size() != 4 || made.all(Name::tensor_strides).size() != 4 ||
                                         made.all(Name::tensor_id).size() != 1))
    return bad_parameter;
  if (made.kind == CudnnKind::graph && made.all<void*>(Name::graph_handle).empty()) return bad_parameter;
  return CudnnStatus::success;
}
CudnnStatus cudnnBackendGetAttribute(CudnnObject* object, CudnnAttribute name, CudnnType, std::int64_t wanted,
                                     std::int64_t* count, void* values) {
  *count = 1;
  if (name == Name::heuristic_results) {  // two: the first is not repeatable, as its note tells
    if (wanted < 2) return bad_parameter;
    for (std::int64_t i = 0; i < 2; ++i) {
      Object& config = *static_cast<Object**>(values)[i];
      config.values = of(object)->values;
      config.values[Name::engine_notes] = {static_cast<char>(i)};
      config.finished = true;
    }
    *count = 2;
  } else if (name == Name::config_engine) {
    Object& engine = **static_cast<Object**>(values);
    engine.values = of(object)->values;
    engine.finished = true;
  } else if (name == Name::engine_notes) {
    *count = of(object)->values.at(name).front() == 0 ? 1 : 0;
    if (*count == 1) *static_cast<CudnnNote*>(values) = CudnnNote::nondeterministic;
  } else if (name == Name::plan_workspace) {
    *static_cast<std::int64_t*>(values) = 512;
  } else {
    return not_supported;
  }
  return CudnnStatus::success;
}
CudnnStatus cudnnBackendExecute(CudnnHandle* handle, CudnnObject* plan, CudnnObject* pack) {
  if (!of(plan)->finished || !of(pack)->finished || of(pack)->one<void*>(Name::pack_workspace) == nullptr) return bad_parameter;
  auto run = std::make_unique<Run>();
  if (!run->add(*of(plan)->object(Name::plan_config)->object(Name::heuristic_graph), *of(pack))) return bad_parameter;
  static_cast<FakeLane*>(handle->stream)->push(std::move(run));
  ++attentions;
  return CudnnStatus::success;
}

}  // extern "C"
