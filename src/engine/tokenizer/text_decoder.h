// The decoders of a tokenizer.json of SentencePiece's kind: from the names of tokens to text.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace troika::tokenizer {

struct DecoderStep {
  enum class Kind {
    replace,        // `pattern`, as it is, by `content` in each token
    byte_fallback,  // tokens of bytes in a row become their text; each U+FFFD if that is not UTF-8
    fuse,           // all tokens become one
    strip,          // at most `start` times `content` at the begin of each token, `stop` times at its end
    metaspace,      // `pattern` becomes a space; in the first token nothing if content is empty
  };
  Kind kind;
  std::string pattern = "", content = "";
  std::size_t start = 0, stop = 0;
};

// Threads: const use is safe.
class TextDecoder {
 public:
  explicit TextDecoder(std::vector<DecoderStep> steps) : steps_(std::move(steps)) {}

  // The text of tokens that come one by one, behind what is `before`. What text() gave after some tokens is a beginning of what
  // it gives after more. Copies are cheap but for what is held back. The decoder must outlive it.
  class Growing {
   public:
    Growing(const TextDecoder& decoder, Before before);
    std::string add(std::string_view token);
    std::string rest() const;  // what would follow if no more tokens came

   private:
    struct State {
      std::string held;          // not given to the next step yet
      bool begun = false;        // a first token, or a character that is not stripped, has come
      std::size_t stripped = 0;  // at the begin
    };
    void give(std::size_t step, std::string token);
    void give_held_bytes(std::size_t step);
    void end(std::size_t step);
    std::string fused_part(const DecoderStep& step, std::string part, State* state) const;

    const std::vector<DecoderStep>* steps_;
    std::vector<State> states_;
    std::vector<bool> fused_;  // by step: all tokens are one there, of which parts come
    std::string out_;
  };

 private:
  std::vector<DecoderStep> steps_;
};

}  // namespace troika::tokenizer
