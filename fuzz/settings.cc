// Settings as YAML: read, printed, and resolved for several sizes of the world.
#include <string>

#include "config/config.h"
#include "config/resolve.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"

namespace troika::fuzz {

static void require_fixpoint(const std::string& yaml) {
  require(config::to_yaml(config::settings_from_yaml(yaml, "it again")) == yaml, "printed settings read back");
}

static void resolve(const config::Settings& settings, std::int64_t world_size) {
  config::Resolved resolved;
  if (!accepted([&] { resolved = config::resolve(settings, world_size); })) return;
  require(resolved.settings.parallel.world() == world_size, "the layout fills the world");
  require(!config::describe_batch(resolved).empty(), "the batch has a description");
  const std::string yaml = config::to_yaml(resolved.settings);
  require_fixpoint(yaml);
  require(config::to_yaml(config::resolve(resolved.settings, world_size).settings) == yaml, "resolving twice is once");
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(settings)(const std::uint8_t* data, std::size_t size) {
  using namespace troika;
  const std::string input(fuzz::text_of(data, size));
  config::Settings settings;
  if (!fuzz::accepted([&] { settings = config::settings_from_yaml(input, "settings"); })) return 0;
  fuzz::require_fixpoint(config::to_yaml(settings));
  fuzz::require(config::agreement_hash(settings).size() == 16, "settings have a hash");
  for (const std::int64_t world_size : {1, 4, 6}) fuzz::resolve(settings, world_size);
  return 0;
}
