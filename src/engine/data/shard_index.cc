#include "data/shard_index.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/input_text.h"

namespace troika::data {
using nlohmann::json;

static constexpr const char* format_name = "troika token shards";
static constexpr std::int64_t format_version = 1;

std::string index_path(const std::string& folder) { return folder + "/index.json"; }

ShardIndex read_shard_index(const std::string& folder) {
  const std::string path = index_path(folder);
  if (!base::file_exists(path))
    throw base::DataError(base::say("'{}' is missing, so the shards next to it are not a complete data set: prepare the data again ('troika data prepare')", path));
  return parse_shard_index(base::read_file(path), path);
}

ShardIndex parse_shard_index(std::string_view text, const std::string& path) {
  const json root = base::parse_json(text, path);
  if (base::json_string(root, "format", path) != format_name ||
      base::json_int(root, "version", path) != format_version) {
    throw base::DataError(base::say("'{}' is not an index of token shards of version {}: prepare the data again ('troika data prepare')", path, format_version));
  }
  ShardIndex index;
  index.vocab_size = base::json_int(root, "vocab_size", path);
  index.tokenizer_fingerprint = base::json_string(root, "tokenizer", path);
  index.source = base::json_string(root, "source", path);
  if (root.contains("dropped_bytes")) index.dropped_bytes = base::json_int(root, "dropped_bytes", path);
  for (const json& item : base::json_array(root, "shards", path)) {
    index.shards.push_back({base::json_string(item, "file", path), base::json_int(item, "tokens", path),
                            base::json_int(item, "documents", path), base::json_string(item, "hash", path)});
    ShardIndex::Entry& entry = index.shards.back();
    if (entry.file.empty() || entry.file[0] == '.' || entry.file.find('/') != std::string::npos)
      throw base::DataError(base::say("'{}' names the shard '{}', which is not a plain file name", path, entry.file));
    if (item.contains("piece_hashes")) entry.piece_hashes = base::json_string(item, "piece_hashes", path);
  }
  return index;
}

void write_shard_index(const std::string& folder, const ShardIndex& index) {
  nlohmann::ordered_json shards = nlohmann::ordered_json::array();
  std::int64_t tokens = 0, documents = 0;
  for (const ShardIndex::Entry& shard : index.shards) {
    shards.push_back(
        {{"file", shard.file}, {"tokens", shard.tokens}, {"documents", shard.documents}, {"hash", shard.payload_hash}});
    if (!shard.piece_hashes.empty()) shards.back()["piece_hashes"] = shard.piece_hashes;
    tokens += shard.tokens;
    documents += shard.documents;
  }
  nlohmann::ordered_json root = {{"format", format_name},
                                       {"version", format_version},
                                       {"tokens", tokens},
                                       {"documents", documents},
                                       {"vocab_size", index.vocab_size},
                                       {"tokenizer", index.tokenizer_fingerprint},
                                       {"source", index.source},
                                       {"shards", shards}};
  if (index.dropped_bytes > 0) root["dropped_bytes"] = index.dropped_bytes;
  base::write_file_atomic(index_path(folder), root.dump(2) + "\n");
}

bool looks_like_shards(const std::string& path) {
  if (!base::directory_exists(path)) return base::ends_with(path, ".bin");
  if (base::file_exists(path + "/tokens-00000.bin")) return true;
  if (!base::file_exists(index_path(path))) return false;
  return base::read_file(index_path(path)).find(format_name) != std::string::npos;
}

}  // namespace troika::data
