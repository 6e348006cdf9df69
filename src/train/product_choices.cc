#include "train/product_choices.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/text.h"
#include "tensor/accelerator.h"
#include "tensor/gpu_traits.h"

namespace troika::train {
namespace {

constexpr const char* file_name = "products.txt";
constexpr const char* between = " = ";
using Choices = std::map<std::string, std::string>;  // algorithms by kind

std::string to_text(const Choices& choices) {
  std::string text;
  for (const auto& [kind, algorithm] : choices) text += kind + between + algorithm + '\n';
  return text;
}

// Of kinds that are in both, those that are there already stay.
void add(const std::string& text, Choices* choices) {
  for (const std::string& line : base::split(text, '\n')) {
    if (line.empty()) continue;
    const std::size_t at = line.rfind(between);
    if (at == std::string::npos)
      throw base::DataError(fmt::format("'{}' has a line that is no choice of a product's algorithm: '{}'; without the file they are made anew",
                                        file_name, line.substr(0, 80)));
    choices->emplace(line.substr(0, at), line.substr(at + 3));
  }
}

std::size_t use(const tensor::Device& device, const Choices& choices) {
  if (device.is_cpu()) return 0;
  std::vector<tensor::ProductChoice> all;
  for (const auto& [kind, algorithm] : choices) all.push_back({kind, algorithm});
  return device.accelerator().use_products(device, all);
}

std::string measured(const tensor::Device& device, const std::function<void()>& passes) {
  Choices mine;
  if (!device.is_cpu())
    for (const auto& [kind, algorithm] : device.accelerator().measure_products(device, passes)) mine[kind] = algorithm;
  return to_text(mine);
}

}  // namespace

void choose_products(Session& session, const RankContext& context, const tensor::Device& device,
                     const std::function<void()>& passes) {
  const std::string& folder = context.resolved.settings.train.out;
  const std::string kept = session.broadcast_text("kept products", [&] {
    return folder.empty() ? "" : base::text_of_run(folder, file_name, base::most_settings_bytes).value_or("");
  });
  Choices choices;
  add(kept, &choices);
  if (use(device, choices) == 0 && !choices.empty() && !device.is_cpu())
    say(context, fmt::format("note: the algorithms that {}/{} keeps for products were chosen for others than {}; they are measured anew, "
                             "and bits may differ from those of before",
                             folder, file_name, tensor::describe(device)));
  for (const std::string& of_rank : session.all_gather_text("measured products", measured(device, passes))) add(of_rank, &choices);
  use(device, choices);
  if (context.identity.world_rank == 0 && !folder.empty() && to_text(choices) != kept)
    base::write_file_atomic(folder + "/" + file_name, to_text(choices));
}

}  // namespace troika::train
