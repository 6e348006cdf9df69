// Why the system grants no further thread or process, in both languages.
#pragma once

#include "base/language.h"

namespace troika::host {

struct ThreadLimitTexts {
  base::Bilingual of_group = {
      "no further thread or process can be started: '{0}' allows {1}, and {2} are in use; raise it (TasksMax, "
      "--pids-limit): each rank takes about 16 beside those that compute",
      "无法再启动线程或进程：“{0}”允许 {1} 个，已使用 {2} 个；请调高该限制（TasksMax、--pids-limit）：每个 rank 除计算线程外"
      "约需 16 个"};
  base::Bilingual of_addresses = {
      "no further thread or process can be started: this process may have {0} of address space (ulimit -v), and {1} are "
      "in use; raise it, or remove the limit (ulimit -v unlimited)",
      "无法再启动线程或进程：本进程最多可用 {0} 地址空间（ulimit -v），已使用 {1}；请调高或取消该限制（ulimit -v unlimited）"};
  base::Bilingual of_user = {
      "no further thread or process can be started: this user may have {0} (ulimit -u); raise it: each rank takes about "
      "16 beside those that compute",
      "无法再启动线程或进程：该用户最多可有 {0} 个（ulimit -u）；请调高：每个 rank 除计算线程外约需 16 个"};
  base::Bilingual of_system = {
      "no further thread or process can be started: memory is short, or a limit of the system is reached "
      "(/proc/sys/kernel/threads-max)",
      "无法再启动线程或进程：内存不足，或已达到系统的限制（/proc/sys/kernel/threads-max）"};
};

inline constexpr ThreadLimitTexts thread_limit_texts{};

}  // namespace troika::host
