// The page of `troika plan`, and what is wrong with its command line, in both languages.
#pragma once

#include "base/language.h"

namespace troika::planner {

struct PlanPageTexts {
  // Titles of its lines.
  base::Bilingual model = {"model", "模型"};
  base::Bilingual batch = {"batch", "批量"};
  base::Bilingual on = {"on", "机器"};
  base::Bilingual fits = {"fits?", "放得下？"};
  base::Bilingual first = {"first", "首选"};
  base::Bilingual run = {"run", "运行"};
  base::Bilingual helps = {"helps", "可改进"};
  base::Bilingual left = {"left", "其余"};
  base::Bilingual start = {"start", "启动"};

  // Heads of its table.
  base::Bilingual step = {"step", "一步"};
  base::Bilingual memory = {"memory", "内存"};
  base::Bilingual compute = {"compute", "计算"};
  base::Bilingual communication = {"comm.", "通信"};
  base::Bilingual bubble = {"bubble", "气泡"};
  base::Bilingual layout = {"layout", "布局"};

  base::Bilingual of_model = {"{} parameters, {}, width {}, vocabulary {}", "{} 个参数，{} 层，宽度 {}，词表 {}"};
  base::Bilingual of_batch = {"{} of {}: {} positions per step, the same in every layout",
                              "{} 个长度为 {} 的序列：每步 {} 个位置，各布局相同"};
  base::Bilingual between_hosts = {"{}; {} between hosts", "{}；主机之间 {}"};
  base::Bilingual of_run = {"{} tokens are {:.0f} steps and take {}", "{} 个 token 为 {:.0f} 步，用时 {}"};
  base::Bilingual days = {"{:.1f} days", "{:.1f} 天"};
  base::Bilingual of_left = {
      "{} considered, {} not fit, {} followed, {} simulated; the rest is slower by a lower bound",
      "考虑了 {} 种布局，{} 种放不下，跟踪了 {} 种，模拟了 {} 种；其余的按下界已知更慢"};
  base::Bilingual utilisation = {
      "MFU: 6 FLOPs per token and weight, attention by the whole mask, nothing for recomputation, over the data "
      "sheet's "
      "rate",
      "MFU：每个 token 和权重计 6 FLOPs，注意力按完整掩码计，不计重计算，除以规格书给出的速率"};

  // Of the command line.
  base::Bilingual two_machines = {"--cluster and --gpu both name the machines: give one of them",
                                  "--cluster 和 --gpu 都指定了机器：请只给出一个"};
  base::Bilingual which_gpu = {"--gpus says how many: give --gpu the name of the accelerator too, such as --gpu h100",
                               "--gpus 只说明数量：请再用 --gpu 给出加速器名称，如 --gpu h100"};
  base::Bilingual tokens = {"--tokens is '{}', but is a number above 0 such as 300B, 20M or 1e9",
                            "--tokens 为“{}”，但应为大于 0 的数，如 300B、20M 或 1e9"};
  base::Bilingual whole_hosts = {"--gpus {} are not whole hosts of {}: use {} or {}, or --gpus-per-node",
                                 "--gpus {} 不是整台主机（每台 {} 个）：请使用 {} 或 {}，或给出 --gpus-per-node"};
  base::Bilingual network = {"--network is '{}', but is a number with its unit, such as '1.6 Tbit/s' or '939 Mbit/s'",
                             "--network 为“{}”，但应为带单位的数，如“1.6 Tbit/s”或“939 Mbit/s”"};
  base::Bilingual nproc = {"--nproc is for hosts that compute on their cores; a host with devices runs a rank on each",
                           "--nproc 用于以 CPU 核计算的主机；有设备的主机在每个设备上运行一个 rank"};
};
inline constexpr PlanPageTexts plan_texts{};

}  // namespace troika::planner
