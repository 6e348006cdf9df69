// A plan's reasons, and why a run is not started, in both languages.
#pragma once

#include "base/language.h"

namespace troika::planner {

struct ReasonTexts {
  // What would help.
  base::Bilingual links = {"links twice as fast", "链路速度提高一倍"};
  base::Bilingual batch = {"a batch twice as large (--global-batch-size {}, for other results)",
                           "批量增大一倍（--global-batch-size {}，训练结果会不同）"};
  base::Bilingual memory = {"{0} more memory on each {1}, which needs no recomputation and no offload then",
                            "每个{1}增加 {0} 内存，这样就不需要重计算和卸载"};
  base::Bilingual fewer_hosts = {"fewer hosts: {0} of the {1} do it as {2}",
                                 "减少主机：{1} 台中的 {0} 台即可，布局为 {2}"};
  base::Bilingual more_hosts = {"twice as many hosts, as more replicas of the same batch",
                                "主机数量加倍，以更多副本分担同样的批量"};
  base::Bilingual faster = {"{:.2f} times as fast: {}", "速度为 {:.2f} 倍：{}"};
  base::Bilingual host = {"host", "主机"};
  base::Bilingual device = {"device", "设备"};
  base::Bilingual rank = {"rank", "进程"};

  // Of one layout.
  base::Bilingual fits = {"fits: {} of the {} that a rank has", "放得下：{}，每个 rank 可用 {}"};
  base::Bilingual does_not_fit = {"does not fit: it needs {} of the {} that a rank has",
                                  "放不下：需要 {}，而每个 rank 只有 {}"};
  base::Bilingual computing = {"{} computing", "计算 {}"};
  base::Bilingual optimizer = {"{} optimizer", "优化器 {}"};
  base::Bilingual tensor = {"{} messages of tensor parallelism", "张量并行的通信 {}"};
  base::Bilingual context = {"{} messages of context parallelism", "上下文并行的通信 {}"};
  base::Bilingual pipeline = {"{} messages between stages", "流水线阶段之间的通信 {}"};
  base::Bilingual data = {"{} gradients and parameters between replicas", "副本之间的梯度和参数 {}"};
  base::Bilingual world = {"{} the norm over all ranks", "所有 rank 上的范数 {}"};
  base::Bilingual bubble = {"{} standing still for other ranks", "等待其他 rank {}"};
  base::Bilingual step = {"a step of {} tokens takes {}: {}", "一步 {} 个 token，用时 {}：{}"};
  base::Bilingual stages = {"{} stages of about {} layers with {} microbatches each: a bubble of {}",
                            "{} 个阶段，每个约 {} 层，各处理 {} 个微批：气泡占 {}"};
  base::Bilingual recomputation = {
      "without full recomputation it would be faster, where it fits: each forward runs twice",
      "如果放得下，不做完全重计算会更快：现在每次前向都要计算两遍"};
  base::Bilingual communication = {"communication takes {}, more than a fifth of the step",
                                   "通信占 {}，超过一步时间的五分之一"};
  base::Bilingual idle = {"ranks compute {} of the time; four fifths are good",
                          "各 rank 有 {} 的时间在计算；达到五分之四为好"};

  // The three questions.
  base::Bilingual holds_model = {"one {} holds the model: parameters, gradients and optimizer take {} of {}",
                                 "单个{}放得下模型：参数、梯度和优化器占 {}，可用 {}"};
  base::Bilingual holds_no_model = {"one {} does not hold the model: parameters, gradients and optimizer take {} of {}",
                                    "单个{}放不下模型：参数、梯度和优化器占 {}，可用 {}"};
  base::Bilingual holds_layer = {"one {} holds a layer: {} and {} of activations for a sequence",
                                 "单个{}放得下一层：{}，另有一个序列的激活 {}"};
  base::Bilingual holds_no_layer = {
      "one {} does not hold a layer: {} and {} of activations for a sequence, so layers have to be split: tensor "
      "parallelism, or ZeRO 3",
      "单个{}放不下一层：{}，另有一个序列的激活 {}，因此必须拆分各层：用张量并行或 ZeRO 3"};
  base::Bilingual deep = {"{} layers are deep enough for stages of a pipeline", "{} 层足够切分为流水线阶段"};
  base::Bilingual shallow = {"{} layers give few layers to each stage of a long pipeline",
                             "只有 {} 层，流水线较长时每个阶段分到的层很少"};

  // Where nothing fits.
  base::Bilingual nothing_fits = {"no layout fits {}: the nearest, {}, needs at least {} of the {} that a rank has",
                                  "没有布局能放进 {}：最接近的 {} 至少需要 {}，而每个 rank 只有 {}"};
  base::Bilingual hosts_would_do = {"{}; {} of these hosts would do, as {}", "{}；这样的主机有 {} 台就够，布局为 {}"};
  base::Bilingual smaller_would_do = {"{}; a smaller model, shorter sequences or machines with more memory would",
                                      "{}；可改用更小的模型、更短的序列或内存更大的机器"};

  base::Bilingual no_layout = {
      "no layout of the world has the sizes that are asked for: the product of dp, pp, tp and cp must be the number of "
      "ranks, and dp must divide the batch",
      "没有布局符合所要求的大小：dp、pp、tp 和 cp 的乘积必须等于 rank 数，且 dp 必须整除批量"};

  base::Bilingual one_layout = {"{} is for one layout, but parallel.layout auto chooses one: leave one of the two out",
                                "{} 只适用于单个布局，而 parallel.layout auto 会自行选择：请去掉其中一个"};

  // A layout.
  base::Bilingual one_rank = {"one rank", "1 个 rank"};
  base::Bilingual interleaved = {"interleaved with {} stages a rank", "interleaved，每个 rank {} 个阶段"};
  base::Bilingual micro_batch = {"micro batch {}", "微批大小 {}"};
  base::Bilingual recompute = {"recompute {}", "重计算 {}"};
  base::Bilingual offload = {"offload {}", "卸载 {}"};

  // What a launcher refuses.
  base::Bilingual nearest_that_fits = {"{}; the nearest layout that fits is {} ({} a rank)",
                                       "{}；最接近的可行布局是 {}（每个 rank {}）"};

  // Machines.
  base::Bilingual one_host = {"one host", "1 台主机"};
  base::Bilingual hosts = {"{} hosts", "{} 台主机"};
  base::Bilingual of_a_core = {"{} of {} core ({}), {}", "{}，每台 {} 核（{}），{}"};
  base::Bilingual of_cores = {"{} of {} cores ({}), {}", "{}，每台 {} 核（{}），{}"};
  base::Bilingual with_devices = {"{} with {} x {}, {} each", "{}，每台 {} 个 {}，每个 {}"};
};
inline constexpr ReasonTexts reason_texts{};

}  // namespace troika::planner
