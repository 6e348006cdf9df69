#include "train/product_choices.h"

#include <string>

#include "base/file.h"
#include "base/run_files.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "train/products_text.h"

namespace troika::train {
namespace {

constexpr const char* file_name = "products.txt";

std::size_t use(const tensor::Device& device, const ProductAlgorithms& choices) {
  if (device.is_cpu()) return 0;
  std::vector<tensor::ProductChoice> all;
  for (const auto& [kind, algorithm] : choices) all.push_back({kind, algorithm});
  return device.accelerator().use_products(device, all);
}

std::string measured(const tensor::Device& device, const std::function<void()>& passes) {
  ProductAlgorithms mine;
  if (!device.is_cpu())
    for (const auto& [kind, algorithm] : device.accelerator().measure_products(device, passes)) mine[kind] = algorithm;
  return to_text(mine);
}

}  // namespace

void choose_products(Session& session, const RankContext& context, const tensor::Device& device,
                     const std::function<void()>& passes) {
  const std::string& folder = context.resolved.settings.train.out;
  const std::string kept = session.collectives().broadcast_text("kept products", [&] {
    return folder.empty() ? "" : base::text_of_run(folder, file_name, base::most_settings_bytes).value_or("");
  });
  ProductAlgorithms choices;
  add_products(kept, &choices);
  if (use(device, choices) == 0 && !choices.empty() && !device.is_cpu())
    say(context, base::say("note: the algorithms that {}/{} keeps for products were chosen for others than {}; they "
                           "are measured anew, "
                           "and bits may differ from those of before",
                           folder, file_name, tensor::describe(device)));
  for (const std::string& of_rank :
       session.collectives().all_gather_text("measured products", measured(device, passes)))
    add_products(of_rank, &choices);
  use(device, choices);
  if (context.identity.world_rank == 0 && !folder.empty() && to_text(choices) != kept)
    base::write_file_atomic(folder + "/" + file_name, to_text(choices));
}

}  // namespace troika::train
