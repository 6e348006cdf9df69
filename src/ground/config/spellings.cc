#include "config/spellings.h"

#include "base/text.h"
#include "config/fields.h"

namespace troika::config {

const std::vector<Ignored>& ignored_flags() {
  static const std::vector<Ignored> rows = {
      {"sudo-pass", {"nothing here needs root, and the value was not kept", "这里不需要 root 权限，该值没有保留"}},
      {"hf-hub-token", {"nothing is downloaded, and the value was not kept", "这里不会下载任何内容，该值没有保留"}},
      {"ms-hub-token", {"nothing is downloaded, and the value was not kept", "这里不会下载任何内容，该值没有保留"}},
      {"om-hub-token", {"nothing is downloaded, and the value was not kept", "这里不会下载任何内容，该值没有保留"}},
      {"hub-token", {"nothing is uploaded, and the value was not kept", "这里不会上传任何内容，该值没有保留"}},
      {"push-to-hub-token", {"nothing is uploaded, and the value was not kept", "这里不会上传任何内容，该值没有保留"}},
      {"local-rank", {"ranks are read from the variables that the launcher sets", "rank 从启动器设置的变量中读取"}},
      {"world-size",
       {"the number of processes is read from the variables that the launcher sets", "进程数从启动器设置的变量中读取"}},
  };
  return rows;
}

const std::vector<Ignored>& ignored_variables() {
  static const std::vector<Ignored> rows = {
      {"WANDB_*",
       {"metrics are written to the run's folder, and for TensorBoard with log.tensorboard",
        "指标写入运行目录；用 log.tensorboard 可同时写给 TensorBoard"}},
      {"USE_LIBUV", {"the store that ranks meet at does not use it", "各 rank 会合所用的存储不使用它"}},
      {"TORCH_COMPILE", {"nothing is compiled at run time", "运行时不做编译"}},
      {"FORCE_TORCHRUN",
       {"torchrun is not needed, because train starts its ranks itself, as troika launch does",
        "不需要 torchrun，train 会像 troika launch 那样自行启动各 rank"}},
  };
  return rows;
}

const std::vector<Switch>& switches() {
  static const std::vector<Switch> rows = {
      {"fp16", "precision.compute", "fp16"},
      {"bf16", "precision.compute", "bf16"},
      {"fp32", "precision.compute", "fp32"},
      {"gradient-checkpointing", "parallel.recompute", "full"},
      {"activation-checkpointing", "parallel.recompute", "full"},
      {"disable-gradient-checkpointing", "parallel.recompute", "none"},
      {"pure-bf16", "precision.compute", "bf16"},
      {"train-on-prompt", "data.loss_on", "all"},
      {"mask-history", "data.loss_on", "last_answer"},
      {"disable-shuffling", "data.shuffle", "false"},
  };
  return rows;
}

Reporters reporters_of(const std::string& list) {
  Reporters reporters;
  for (const std::string& part : base::split(list, ',')) {
    const std::string name = base::trim(part);
    if (name == "tensorboard" || name == "all")
      reporters.tensorboard = true;
    else if (!name.empty() && name != "none")
      reporters.others.push_back(name);
  }
  return reporters;
}

const Ignored* find_ignored(std::string_view name) {
  const std::string wanted = normalised(name);
  for (const auto& row : ignored_flags()) {
    if (row.name == wanted) return &row;
  }
  return nullptr;
}

const Switch* find_switch(std::string_view name) {
  const std::string wanted = normalised(name);
  for (const auto& row : switches()) {
    if (row.name == wanted) return &row;
  }
  return nullptr;
}

}  // namespace troika::config
