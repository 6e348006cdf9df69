// Why there is no plan, in both languages.
#pragma once

#include "base/language.h"

namespace troika::plan {

struct PlanTexts {
  // Of devices.
  base::Bilingual device = {"train.device is '{}', but {}", "train.device 为“{}”，但{}"};
  base::Bilingual no_back_end = {"this build has no CUDA back end; use --device cpu",
                                 "本程序构建时没有 CUDA 后端；请使用 --device cpu"};
  base::Bilingual no_driver = {
      "this machine has no NVIDIA driver (/proc/driver/nvidia/version is not there); install it, or use --device cpu",
      "本机没有 NVIDIA 驱动（不存在 /proc/driver/nvidia/version）；请安装驱动，或使用 --device cpu"};
  base::Bilingual no_devices = {
      "the NVIDIA driver of this machine offers 0 devices; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use "
      "--device "
      "cpu",
      "本机的 NVIDIA 驱动没有提供任何设备；请检查 nvidia-smi 和 CUDA_VISIBLE_DEVICES，或使用 --device cpu"};
  base::Bilingual last_device = {"this host has {} CUDA device{}; the last is cuda:{}",
                                 "本主机有 {} 个 CUDA 设备{}；最后一个是 cuda:{}"};
  base::Bilingual shared_device = {
      "{} ranks of this host would share it; use --device cuda, or let them share over gloo with --comm.backend gloo",
      "本主机有 {} 个 rank 会共用它；请使用 --device cuda，或用 --comm.backend gloo 让它们经 gloo 共用"};
  base::Bilingual too_few_devices = {
      "this host has {} CUDA device{} for {} ranks; use --nproc-per-node {}, or let ranks share a device over gloo "
      "with "
      "--comm.backend gloo, or --device cpu",
      "本主机有 {} 个 CUDA 设备{}，而有 {} 个 rank；请使用 --nproc-per-node {}，或用 --comm.backend gloo 让多个 rank "
      "经 gloo "
      "共用设备，或使用 --device cpu"};
  base::Bilingual unknown_rates = {
      "--device-rates {} is unknown ({}); for another device give --tflops and --terabytes",
      "没有名为 {} 的 --device-rates（{}）；其他设备请给出 --tflops 和 --terabytes"};
  base::Bilingual names = {"the names are {}", "可用的名称有 {}"};
  base::Bilingual did_you_mean = {"did you mean {}?", "您是想写 {} 吗？"};

  // Of the step.
  base::Bilingual too_large = {
      "a step of {} microbatches in {} stages is too large: at most {} microbatches (a larger --micro-batch-size makes "
      "fewer) and {} stages (a smaller --pp or --virtual-stages)",
      "一步 {} 个微批、{} 个阶段过大：最多 {} 个微批（增大 --micro-batch-size 可减少）和 {} 个阶段（减小 --pp 或 "
      "--virtual-stages）"};
  base::Bilingual vocabulary = {"model.vocab is {}, but the tokenizer has {} ids; use --model.vocab {} or more",
                                "model.vocab 为 {}，但分词器有 {} 个 id；请将 --model.vocab 设为 {} 或更大"};
  base::Bilingual vocabulary_of_weights = {
      "the model in '{0}' has a vocabulary of {1}, but the tokenizer '{2}' has {3} ids: give --data.tokenizer the one "
      "that belongs to the model, or leave tokens out that were added to it",
      "“{0}”中的模型词表大小为 {1}，但分词器“{2}”有 {3} 个 id：请将 --data.tokenizer 设为该模型自己的分词器，或去掉为它"
      "添加的 token"};
  base::Bilingual tp_of_vocabulary = {"parallel.tp {} is more than the vocabulary of {}: each rank needs a part of it",
                                      "parallel.tp {} 大于词表大小 {}：每个 rank 都需要其中一部分"};
  base::Bilingual warmup = {"optimizer.warmup_steps is {}, more than the {} of this run",
                            "optimizer.warmup_steps 为 {}，超过了本次运行的 {} 步"};

  base::Bilingual wsd = {
      "lr_schedule wsd: {} steps of warm-up and {} of decay are more than the {} of this run; set "
      "optimizer.decay_steps to {} or less",
      "lr_schedule wsd：预热 {} 步加衰减 {} 步超过了本次运行的 {} 步；请将 optimizer.decay_steps 设为 {} 或更小"};

  // Of a file with a step program.
  base::Bilingual file = {"the schedule file '{}': {}", "调度文件“{}”：{}"};
  base::Bilingual unlike = {"the schedule file '{}' is for {} {}, but this run has {}",
                            "调度文件“{}”对应的{}为 {}，而本次运行为 {}"};
  base::Bilingual pp = {"pp", "流水线并行数 pp "};
  base::Bilingual dp = {"dp", "数据并行数 dp "};
  base::Bilingual replicas = {"dp x cp", "副本数 dp x cp "};
  base::Bilingual zero = {"ZeRO stage", " ZeRO 级别"};
  base::Bilingual microbatches = {"microbatches", "微批数"};
  base::Bilingual microbatches_of_rank = {"microbatches of a data-parallel rank", "单个数据并行 rank 的微批数"};
  base::Bilingual segments = {"segments", "段数"};
  base::Bilingual first_trained = {"first trained segment", "第一个训练的段"};
  base::Bilingual tied = {"tied embeddings", "共享嵌入（tied embeddings）"};
  base::Bilingual documents = {"documents apart (all_load)", "文档分隔（all_load）"};
  base::Bilingual unfetched = {
      "the schedule file '{}': grid rank {} does not fetch the optimizer state of segment {}, but this run offloads "
      "it; "
      "put fetch and offload around every step of a segment, or leave --offload out",
      "调度文件“{}”：网格 rank {} 没有取回段 {} 的优化器状态，而本次运行会将其卸载；请在段的每个 step 前后加上 fetch "
      "和 "
      "offload，或去掉 --offload"};
  base::Bilingual evaluation = {"the schedule file '{}' is the program of an evaluation; give that of a training step",
                                "调度文件“{}”是评估的程序；请给出训练步的程序"};

  // Of memory. These begin a sentence; what helps is its end.
  base::Bilingual lack_here = {"this rank needs {}, but its share of this host's free memory is {} ({} here)",
                               "该 rank 需要 {}，而它在本主机空闲内存中可用的部分是 {}（本机有 {} 个 rank）"};
  base::Bilingual lack_on_gpu = {"this rank needs about {}, but its share of its GPU's free memory is {} ({} on it)",
                                 "该 rank 约需要 {}，而它在 GPU 空闲内存中可用的部分是 {}（其上有 {} 个 rank）"};
  base::Bilingual lack_and_remedy = {"{}; {}", "{}；可{}"};
  base::Bilingual evaluated = {"use --zero 3 over more ranks, more stages (--pp), --tp, or --precision.compute bf16",
                               "在更多 rank 上使用 --zero 3、增加阶段（--pp）、使用 --tp 或 --precision.compute bf16"};
  base::Bilingual trained = {
      "use --zero 3 over more ranks, --recompute full, --offload file, fewer layers (--middle-layers){}, or more "
      "stages "
      "(--pp)",
      "在更多 rank 上使用 --zero 3、--recompute full、--offload file、减少层数（--middle-layers）{}或增加阶段（--pp）"};
  base::Bilingual smaller_hidden = {", a smaller --model.hidden", "、减小 --model.hidden "};
  base::Bilingual offload_host = {"--offload host would fit", "使用 --offload host，这样就放得下"};
  base::Bilingual offload_file = {"--offload file would fit, and be slower",
                                  "使用 --offload file，这样就放得下，但会慢一些"};
  base::Bilingual no_snapshot = {"--checkpoint.async off would fit", "使用 --checkpoint.async off，这样就放得下"};
  base::Bilingual micro = {"--micro-batch-size {} would fit", "使用 --micro-batch-size {}，这样就放得下"};
};
inline constexpr PlanTexts texts{};

}  // namespace troika::plan
