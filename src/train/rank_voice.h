// What a rank has to say while it may be unable to move: to its log, and to the screen. Says it from a thread of its own, so
// that who speaks, such as its heartbeat, never waits for a disk that does not answer.
#pragma once

#include <memory>
#include <string>

#include "train/rank_context.h"

namespace troika::train {

// Threads: every call from any.
class RankVoice {
 public:
  explicit RankVoice(const RankContext& context);
  ~RankVoice();  // waits 2 s at most for what is not written yet
  RankVoice(const RankVoice&) = delete;
  RankVoice& operator=(const RankVoice&) = delete;

  void log(const std::string& text);     // to the log
  void notice(const std::string& text);  // and to rank 0's screen
  void answer(const std::string& text);  // and to stderr, unless that is the log because our launcher made it so

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace troika::train
