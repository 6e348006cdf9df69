// What a rank has to say while it may be unable to move: to its log, and to the screen. Says it from a thread of its own, so
// that who speaks, such as its heartbeat, never waits for a disk that does not answer.
#pragma once

#include <cstdio>
#include <string>

#include "records/line_file.h"
#include "train/rank_context.h"

namespace troika::train {

// Threads: every call from any. Its end waits 2 s at most for what is not written yet.
class RankVoice {
 public:
  explicit RankVoice(const RankContext& context);
  RankVoice(const RankVoice&) = delete;
  RankVoice& operator=(const RankVoice&) = delete;

  void log(const std::string& text);    // to the log, in English
  void notice(const base::Text& text);  // and to rank 0's screen
  void answer(const base::Text& text);  // and to stderr, unless that is the log because our launcher made it so

 private:
  void say(const base::Text& text, std::FILE* screen);  // null: to the log alone

  const std::string folder_;  // of the log; "": there is none
  const int rank_;
  const config::LogLevel level_;
  const base::Language language_;  // of the screen
  std::FILE *const screen_of_notices_, *const screen_of_answers_;
  records::BackgroundDisk disk_;
};

}  // namespace troika::train
