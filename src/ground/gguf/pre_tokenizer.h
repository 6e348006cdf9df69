// How a byte-level tokenizer cuts text before it merges, by its name in GGUF files (tokenizer.ggml.pre).
#pragma once

#include <string>
#include <vector>

namespace troika::gguf {

struct PreTokenizer {
  std::vector<const char*> names;     // the first is the one that is written
  std::vector<const char*> patterns;  // as a tokenizer.json of Hugging Face has them, applied one after the other
  bool whole_pieces_first;            // a piece that is a token is taken whole (`ignore_merges`)
  bool begins;    // a text begins with the token bos where tokenizer.ggml.add_bos_token is not stated
  bool composes;  // text is brought into Normalization Form C
};

const PreTokenizer* find_pre_tokenizer(const std::string& name);  // null for an unknown one
std::string names_of_pre_tokenizers();

enum class Merging { all, whole_pieces_first };

// By its patterns; of several with the same ones that which merges so. DataError with the name of the nearest, where
// none has these.
const PreTokenizer& pre_tokenizer_of(const std::vector<std::string>& patterns, const std::string& origin,
                                     Merging merging);

}  // namespace troika::gguf
