#include "config/spellings.h"

#include "base/say.h"
#include "base/text.h"
#include "config/fields.h"

namespace troika::config {

const std::vector<Ignored>& ignored_flags() {
  static const std::vector<Ignored> rows = {
      {"sudo-pass", base::Phrase("root is not needed, and the value was not stored")},
      {"hf-hub-token", base::Phrase("nothing is downloaded, and the value was not kept")},
      {"ms-hub-token", base::Phrase("nothing is downloaded, and the value was not kept")},
      {"om-hub-token", base::Phrase("nothing is downloaded, and the value was not kept")},
      {"hub-token", base::Phrase("nothing is uploaded, and the value was not kept")},
      {"push-to-hub-token", base::Phrase("nothing is uploaded, and the value was not kept")},
      {"local-rank", base::Phrase("ranks come from the variables that the launcher sets")},
      {"world-size",
       base::Phrase("the number of processes comes from the variables that the launcher sets")},
  };
  return rows;
}

const std::vector<Ignored>& ignored_variables() {
  static const std::vector<Ignored> rows = {
      {"WANDB_*",
       base::Phrase("metrics are written to the run's folder, and for TensorBoard with log.tensorboard")},
      {"USE_LIBUV", base::Phrase("the store that ranks meet at does not use it")},
      {"TORCH_COMPILE", base::Phrase("nothing is compiled at run time")},
      {"FORCE_TORCHRUN",
       base::Phrase("torchrun is not needed, because train starts its ranks itself, as troika launch does")},
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

base::Text did_you_mean(const std::string& near) {
  return near.empty() ? base::Text{} : base::say("; did you mean {}?", near);
}

}  // namespace troika::config
