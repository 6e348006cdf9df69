// Whether cuDNN has a kernel for what src/engine/gpu/cudnn_api.cc says that it takes and for nothing that it says it does not, and takes the
// memory that src/numbers/shape/gpu_chunks.h counts: asked without a device, by the properties of one (tools/proofs/gpu.sh 5).
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/error.h"
#include "shape/gpu_chunks.h"
#include "gpu/cudnn_api.h"
#include "gpu/flash_graph.h"

namespace {
using namespace troika;
using namespace troika::gpu;
using tensor::AttentionMask;

struct Gpu {
  int capability, multiprocessors, shared_bytes, threads;
};
constexpr Gpu gpus[] = {{80, 108, 166912, 2048}, {86, 84, 101376, 1536},  {89, 128, 101376, 1536},
                        {90, 132, 232448, 2048}, {100, 148, 232448, 2048}, {120, 170, 101376, 1536}};

CudnnObject* properties_of(const CudnnApi& api, const Gpu& gpu) {
  const std::string json = fmt::format(
      R"({{"version":1,"cudaDeviceId":0,"deviceVer":{},"driverVer":12090,"totalGlobalMem":{},"maxGridSize":[2147483647,65535,65535],)"
      R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":{},"smCountOrigin":0,"warpSize":32,)"
      R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":{},"oversizedSharedMemoryPerBlock":0,)"
      R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
      R"("maxThreadsPerSM":{},"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1700000,)"
      R"("memClockRateKHz":2600000,"memoryBusWidth":5120,"l2CacheSize":52428800,"deviceName":"described"}})",
      10 * gpu.capability, std::int64_t{80} << 30, gpu.multiprocessors, gpu.shared_bytes, gpu.threads);
  CudnnObject* object = nullptr;
  if (api.make_object(CudnnKind::device_properties, &object) != CudnnStatus::success ||
      api.set(object, CudnnAttribute::device_json, CudnnType::character, static_cast<std::int64_t>(json.size()), json.data()) !=
          CudnnStatus::success ||
      api.finish(object) != CudnnStatus::success)
    throw base::ConfigError(fmt::format("cuDNN takes no description of a device of {}", gpu.capability));
  return object;
}

struct Count {
  int asked = 0, wrong = 0;
};

void ask(const std::shared_ptr<const CudnnApi>& api, const Gpu& gpu, CudnnObject* device, const FlashShape& s, FlashPlan::Pass pass,
         Repeatable repeatable, Count* count) {
  const base::Text lacks = cudnn_lacks({static_cast<int>(api->version), gpu.capability, s.dtype, s.T, s.S, s.H, repeatable});
  if (!lacks.english.empty() && pass == FlashPlan::Pass::forward) return;  // the table is of training: of both passes
  std::string found;
  std::int64_t bytes = 0;
  try {
    const FlashPlan plan(api, nullptr, device, pass, s, repeatable);
    found = plan.is_there() ? "" : plan.reason();
    bytes = plan.workspace_bytes();
  } catch (const base::Error& error) {
    found = error.what();
  }
  const std::int64_t most = shape::flash_bytes({s.B, s.n, s.k, s.T, s.S, s.H}, repeatable);
  const bool right = lacks.english.empty() == found.empty() && bytes <= (pass == FlashPlan::Pass::forward ? 4096 : most);
  ++count->asked;
  if (right) return;
  ++count->wrong;
  fmt::print("{} {} {}, {} and {} heads of width {}, {} queries, {} keys{}: the table '{}', cuDNN '{}', {} bytes of {}\n", gpu.capability,
             base::name_of(s.dtype), pass == FlashPlan::Pass::forward ? "forward" : repeatable == Repeatable::yes ? "repeatable" : "backward",
             s.n, s.k, s.H, s.T, s.S, s.mask == AttentionMask::none ? ", all seen" : "", lacks.english, found, bytes, most);
}

void ask_all(const std::shared_ptr<const CudnnApi>& api, const Gpu& gpu, Count* count) {
  CudnnObject* const device = properties_of(*api, gpu);
  struct Keys {
    std::int64_t T, S;
    AttentionMask mask;
  };
  constexpr Keys every[] = {{2048, 2048, AttentionMask::causal}, {2049, 2049, AttentionMask::causal},
                            {2048, 3072, AttentionMask::causal}, {2048, 2048, AttentionMask::none}};
  for (const base::Dtype dtype : {base::Dtype::bf16, base::Dtype::fp16})
    for (const std::int64_t H : {64, 80, 96, 128, 256})
      for (const std::int64_t k : {16, 8})
        for (const Keys& keys : every) {
          if (H != 128 && (k == 16 || keys.T != keys.S || keys.T != 2048 || keys.mask == AttentionMask::none)) continue;
          const std::int64_t T = keys.T, S = keys.S, n = 16, all = (n + 2 * k) * H;
          const FlashShape s{dtype,           2,           n,           k,           T,
                             S,               H,           keys.mask,   {T * all, H, all}, {S * all, H, all},
                             {S * all, H, all}, {T * n * H, H, n * H}, {S * k * H, H, k * H}};
          ask(api, gpu, device, s, FlashPlan::Pass::forward, Repeatable::no, count);
          ask(api, gpu, device, s, FlashPlan::Pass::backward, Repeatable::yes, count);
          ask(api, gpu, device, s, FlashPlan::Pass::backward, Repeatable::no, count);
        }
  api->end_object(device);
}

}  // namespace

int main(int, char** words) {
  const std::shared_ptr<const CudnnApi> api = load_cudnn(words[1]);
  int wrong = 0;
  for (const Gpu& gpu : gpus) {
    Count count;
    ask_all(api, gpu, &count);
    fmt::print("cuDNN {} on {}: {} plans, {} unlike the table\n", cudnn_version(*api), gpu.capability, count.asked, count.wrong);
    std::fflush(stdout);
    wrong += count.wrong;
  }
  return wrong == 0 ? 0 : 1;
}
