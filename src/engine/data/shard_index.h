// index.json of a shard folder: the shards in order, their sources and their tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

struct ShardIndex {
  struct Entry {
    std::string file;  // name inside the folder
    std::int64_t tokens = 0, documents = 0;
    std::string payload_hash;
    std::string piece_hashes =
        "";  // name of the file with the hashes of its pieces; "": made by a version without them
  };
  std::int64_t vocab_size = 0;
  std::string tokenizer_fingerprint;
  std::string source;  // hash of tokenizer, input names, sizes and contents, and what else decides the ids
  std::int64_t dropped_bytes = 0;  // of the documents, that no token spells
  std::vector<Entry> shards;
};

std::string index_path(const std::string& folder);

// Throws DataError when the file is missing, damaged or of another version, or names what lies outside the folder.
ShardIndex read_shard_index(const std::string& folder);

// The same from memory; `origin` is named.
ShardIndex parse_shard_index(std::string_view json, const std::string& origin);

void write_shard_index(const std::string& folder, const ShardIndex& index);  // atomic

// Whether `path` is a folder with an index.json or with tokens-*.bin, or a file that ends in .bin.
bool looks_like_shards(const std::string& path);

}  // namespace troika::data
