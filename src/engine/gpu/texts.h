// Why no GPU can be used, in both languages. These are parts of a sentence: they begin small.
#pragma once

#include "base/language.h"

namespace troika::gpu {

struct GpuTexts {
  base::Bilingual no_kernels = {"this build has no kernels for GPUs", "本程序构建时没有 GPU 内核"};
  base::Bilingual no_devices = {
      "the NVIDIA driver of this machine offers 0 devices; look at nvidia-smi and CUDA_VISIBLE_DEVICES",
      "本机的 NVIDIA 驱动没有提供任何设备；请检查 nvidia-smi 和 CUDA_VISIBLE_DEVICES"};
  base::Bilingual no_blas = {
      "cuBLASLt 12.4 or later is not found: neither libcublasLt.so.13 nor .12 lies in an active Python environment, in "
      "/usr/local/cuda or where the dynamic linker looks; pip install nvidia-cublas (or nvidia-cublas-cu12), or put its "
      "folder into LD_LIBRARY_PATH",
      "找不到 cuBLASLt 12.4 及以上版本：已激活的 Python 环境、/usr/local/cuda 和动态链接器查找的位置中都没有 "
      "libcublasLt.so.13 或 .12；请 pip install nvidia-cublas（或 nvidia-cublas-cu12），或将其所在文件夹加入 LD_LIBRARY_PATH"};
  base::Bilingual old_blas = {"'{}' is cuBLASLt {}, but 12.4 or later is needed",
                              "“{}”是 cuBLASLt {}，但需要 12.4 及以上版本"};
  base::Bilingual old_driver = {
      "the NVIDIA driver of this machine is for CUDA {}; CUDA {} and later are needed, which driver 525 brings",
      "本机的 NVIDIA 驱动对应 CUDA {}；需要 CUDA {} 及以上，驱动 525 起提供"};
  base::Bilingual driver_does_not_start = {
      "the NVIDIA driver of this machine does not start: {}; look at nvidia-smi and CUDA_VISIBLE_DEVICES",
      "本机的 NVIDIA 驱动无法启动：{}；请检查 nvidia-smi 和 CUDA_VISIBLE_DEVICES"};
  base::Bilingual not_loaded = {"cannot load {}: {}", "无法加载 {}：{}"};
  base::Bilingual no_function = {"'{}' has no function {}", "“{}”中没有函数 {}"};
  base::Bilingual no_code = {"this build has no kernels for compute capability {}, which {} ({}) has; use --device cpu",
                             "本程序构建时没有计算能力 {} 的内核，而 {}（{}）为该计算能力；请使用 --device cpu"};
  base::Bilingual no_pool = {"the driver has no pool of memory for {} ({}); use --device cpu",
                             "驱动没有为 {}（{}）提供内存池；请使用 --device cpu"};

  // Of train.device.
  base::Bilingual no_device_word = {"train.device is '{}', but it must be auto, cpu, cuda or cuda:N",
                                    "train.device 为“{}”，但必须是 auto、cpu、cuda 或 cuda:N"};
  base::Bilingual device = {"train.device is '{}', but {}", "train.device 为“{}”，但{}"};
  base::Bilingual last_device = {"the last device is cuda:{}", "最后一个设备是 cuda:{}"};
};
inline constexpr GpuTexts gpu_texts{};

}  // namespace troika::gpu
