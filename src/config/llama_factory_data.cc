#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "config/llama_factory_topics.h"

namespace troika::config {
namespace {

std::string without_spaces(const std::string& names) {
  std::vector<std::string> parts = base::split(names, ',');
  for (std::string& part : parts) part = base::trim(part);
  return base::join(parts, ",");
}

void read_datasets(const Topic& t) {
  for (const auto& [name, setting] : {std::pair{"dataset", "data.train"}, {"eval_dataset", "data.valid"}}) {
    if (t.keys.find(name) != nullptr) t.assign(setting, without_spaces(t.keys.text(name)), name);
  }
  const std::string folder = t.keys.text("dataset_dir");
  if (folder == "ONLINE" || folder.rfind("REMOTE:", 0) == 0) {
    t.fail("dataset_dir",
           fmt::format("dataset_dir {} means a download, and nothing is downloaded: copy the data into a "
                       "folder with dataset_info.json",
                       folder));
  } else {
    t.copy("data.folder", "dataset_dir");
  }
}

void read_conversations(const Topic& t) {
  const std::string name = t.keys.text("template");
  if (name == "alpaca" || name == "chatml") {
    t.assign("data.chat_template", name, "template");
  } else if (!name.empty() && !pretrains(t.keys)) {
    t.layer.notes.push_back(fmt::format(
        "template {}: the chat template in the model's own folder is used; data.chat_template names another", name));
  }
  if (t.keys.is_on("train_on_prompt") && t.keys.is_on("mask_history"))
    t.fail("mask_history", "mask_history and train_on_prompt exclude each other: leave one of them out");
  t.when_on("train_on_prompt", "data.loss_on", "all");
  t.when_on("mask_history", "data.loss_on", "last_answer");
  t.when_on("disable_shuffling", "data.shuffle", "false");
  if (pretrains(t.keys)) return t.set_aside({"packing", "neat_packing"});
  t.when_on(t.keys.is_on("neat_packing") ? "neat_packing" : "packing", "data.packing", "true");
}

}  // namespace

void read_data_topics(const Topic& topic) {
  read_datasets(topic);
  read_conversations(topic);
}

}  // namespace troika::config
