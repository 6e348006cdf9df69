#include "train/rank_voice.h"

#include <unistd.h>

#include <cstdio>

#include "metrics/progress.h"

namespace troika::train {

// A bar may stand on the line.
static void show(std::FILE* screen, const std::string& text) {
  const bool terminal = ::isatty(::fileno(screen)) == 1;
  const int width = terminal ? metrics::terminal_width(screen) - 1 : 0;
  std::fprintf(screen, "%s%-*s\n", terminal ? "\r" : "", width, text.c_str());
  std::fflush(screen);
}

RankVoice::RankVoice(const RankContext& context)
    : folder_(context.resolved.settings.train.out.empty() ? "" : context.resolved.settings.train.out + "/logs"),
      rank_(context.identity.world_rank),
      level_(context.resolved.settings.log.level),
      language_(context.language),
      screen_of_notices_(rank_ == 0 ? context.screen : nullptr),
      screen_of_answers_(rank_ == 0 || context.identity.source != rendezvous::Identity::Source::troika_launch
                             ? context.screen
                             : nullptr) {}

// What is said matters more than a log that cannot be written.
void RankVoice::say(const base::Text& text, std::FILE* screen) {
  disk_.post([text, screen, folder = folder_, rank = rank_, level = level_, language = language_] {
    if (screen != nullptr) show(screen, text.in(language));
    if (!folder.empty()) metrics::RunLog(folder, rank, level).info(text.english);
  });
}

void RankVoice::log(const std::string& text) { say(base::verbatim(text), nullptr); }

void RankVoice::notice(const base::Text& text) { say(text, screen_of_notices_); }

void RankVoice::answer(const base::Text& text) { say(text, screen_of_answers_); }

}  // namespace troika::train
