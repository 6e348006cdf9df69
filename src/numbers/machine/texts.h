// What is wrong with machines that are named or described, in both languages.
#pragma once

#include "base/language.h"

namespace troika::machine {

struct MachineTexts {
  base::Bilingual too_many_ranks = {"{0} ranks on each host are more than the {1} devices of {2}",
                                    "每台主机 {0} 个 rank，超过了 {2} 的 {1} 个设备"};
  base::Bilingual no_place = {"{} no place: the cluster has {} for {}",
                              "有 {} 个 rank 没有位置：集群的 {} 只够 {} 个"};
  base::Bilingual hosts = {"{} host{}", "{} 台主机{}"};
  base::Bilingual unknown_flag = {"{0} '{1}' is unknown ({2})", "没有名为“{1}”的 {0}（{2}）"};
  base::Bilingual old_card = {"Troika's kernels need compute capability {} or later, and this card has {}",
                              "Troika 的内核需要计算能力 {} 及以上，而该显卡为 {}"};
  base::Bilingual old_driver = {"driver {0} is older than {1}, which CUDA {2} needs; update it",
                                "驱动 {0} 早于 CUDA {2} 所需的 {1}；请更新驱动"};
  base::Bilingual device = {"device", "设备"};
  base::Bilingual names = {"the names are {}", "可用的名称有 {}"};
  base::Bilingual did_you_mean = {"did you mean {}?", "您是想写 {} 吗？"};
  base::Bilingual no_calibration = {"{} is no calibration file ({}); delete it, and the next runs write it anew",
                                    "{} 不是校准文件（{}）；请删除它，之后的运行会重新写出"};

  // Of a cluster's file.
  base::Bilingual no_file = {"there is no cluster file '{}'", "没有集群文件“{}”"};
  base::Bilingual too_large = {"{} has {} bytes, but a cluster has at most {}",
                               "{} 有 {} 字节，而集群文件最多 {} 字节"};
  base::Bilingual not_yaml = {"{} is not valid YAML: {}", "{} 不是有效的 YAML：{}"};
  base::Bilingual second_document = {
      "a second YAML document begins behind '---', and a cluster is one document: remove that line, or keep one of them",
      "“---”之后开始了第二个 YAML 文档，而集群文件只有一个文档：请删除该行，或只保留其中一个文档"};
  base::Bilingual line = {"{} line {}", "{} 第 {} 行"};
  base::Bilingual needs_keys = {"{} has keys below it", "{} 之下应有键"};
  base::Bilingual unknown_key = {"unknown key '{0}' of {1}; {2}", "{1} 中有未知的键“{0}”；{2}"};
  base::Bilingual keys = {"the keys are {}", "可用的键有 {}"};
  base::Bilingual one_value = {"{} is one value", "{} 只能有一个值"};
  base::Bilingual count = {"{} is '{}', but is a number from {} to {}", "{} 为“{}”，但应为 {} 到 {} 的数"};
  base::Bilingual above_0 = {"{} is '{}', but is a number above 0", "{} 为“{}”，但应为大于 0 的数"};
  base::Bilingual with_unit = {"{} is '{}', but is a number with its unit, such as {}",
                               "{} 为“{}”，但应为带单位的数，如 {}"};
  base::Bilingual products_of = {"{}'s products", "{} 的 products"};
  base::Bilingual bytes_of = {"{}'s bytes", "{} 的 bytes"};
  base::Bilingual a_host = {"a host", "主机"};
  base::Bilingual a_pair = {"a pair", "pairs 中的一项"};
  base::Bilingual a_cluster = {"a cluster", "集群"};
  base::Bilingual or_rates = {"{}; or state the host's rates", "{}；也可以给出主机的 rates"};
  base::Bilingual host_keys = {"a host has keys below it, such as device and count",
                               "主机之下应有键，如 device 和 count"};
  base::Bilingual no_rates = {"a host needs a device that has a profile, or rates with products",
                              "主机需要有档案的 device，或带 products 的 rates"};
  base::Bilingual no_memory = {"a host needs memory, such as 3.5 GiB, or a device that has a profile",
                               "主机需要 memory，如 3.5 GiB，或有档案的 device"};
  base::Bilingual pairs = {"pairs is a list of from, to, latency and bandwidth",
                           "pairs 应为由 from、to、latency 和 bandwidth 组成的列表"};
  base::Bilingual no_cluster = {"{} is no cluster: it needs hosts:, a list", "{} 不是集群文件：需要列表 hosts:"};
  base::Bilingual no_hosts = {"{} names no hosts: it needs hosts:, a list with a device or rates each",
                              "{} 没有给出主机：需要列表 hosts:，每项带 device 或 rates"};
  base::Bilingual no_network = {"{} has several hosts and no network: with latency and bandwidth",
                                "{} 有多台主机却没有 network:，其下应有 latency 和 bandwidth"};
  base::Bilingual too_many_hosts = {"{} has more than {} hosts", "{} 的主机超过 {} 台"};

  // Where rates are from.
  base::Bilingual data_sheets = {"data sheets and published rows of other programs; not measured with Troika",
                                 "规格书和其他程序公布的数据；未用 Troika 实测"};
  base::Bilingual published = {"figures that others published; not measured with Troika",
                               "他人公布的数据；未用 Troika 实测"};
  base::Bilingual measured_there = {"measured by troika probe on such a machine", "由 troika probe 在这样的机器上测得"};
  base::Bilingual probed = {"measured by troika probe", "由 troika probe 测得"};
  base::Bilingual of_profile = {"rates of the profile {}, for each core; `troika probe` measures this host's",
                                "取自档案 {} 的速率，按核计；`troika probe` 可测量本机的速率"};
};
inline constexpr MachineTexts machine_texts{};

}  // namespace troika::machine
