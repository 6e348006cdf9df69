// The lists of files beside tensors and tokens: manifest.json of a checkpoint, model.safetensors.index.json of a model
// folder, index.json of a folder of token shards.
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "checkpoint/manifest.h"
#include "data/shard_index.h"
#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "weights/weights_folder.h"

namespace troika::fuzz {
using checkpoint::Manifest;

static void require_inside(const std::string& name, const char* promise) {
  require(!name.empty() && name.front() != '/' && name.front() != '.' && name.find("/.") == std::string::npos, promise);
}

static void read_manifest(const std::string& text) {
  Manifest manifest;
  if (!accepted([&] { manifest = checkpoint::manifest_from_text(text, "a manifest"); })) return;
  require(manifest.facts.step >= 0 && manifest.world_size >= 0, "a manifest's numbers are possible");
  for (const checkpoint::Part& part : manifest.parts) {
    require_inside(part.file, "a part lies in its checkpoint's folder");
    require(part.bytes >= 0, "a part has a size");
  }
  const std::string again = checkpoint::manifest_to_text(manifest);
  require(checkpoint::manifest_to_text(checkpoint::manifest_from_text(again, "it again")) == again,
          "a manifest reads back");
}

// With the hash that the rest of it asks for, which no chance finds.
static std::string with_hash(const std::string& text) {
  auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return "";
  document.erase("manifest_xxh3");
  document["manifest_xxh3"] = base::hash_bytes(document.dump());
  return document.dump();
}

static void read_weights_index(const std::string& text) {
  accepted([&] {
    for (const auto& [tensor, file] : weights::parse_weights_index(text, "an index"))
      require_inside(file, "a file of weights lies in its folder");
  });
}

static void read_shard_index(const std::string& text) {
  accepted([&] {
    const data::ShardIndex index = data::parse_shard_index(text, "an index");
    for (const auto& shard : index.shards) require_inside(shard.file, "a shard lies in its folder");
  });
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(manifests)(const std::uint8_t* data, std::size_t size) {
  const std::string input(troika::fuzz::text_of(data, size));
  troika::fuzz::read_manifest(input);
  troika::fuzz::read_manifest(troika::fuzz::with_hash(input));
  troika::fuzz::read_weights_index(input);
  troika::fuzz::read_shard_index(input);
  return 0;
}
