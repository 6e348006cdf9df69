#include "train/rank_voice.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "metrics/progress.h"

namespace troika::train {

static constexpr std::chrono::seconds last_wait{2};

// Shared with its thread, which may outlive the voice where the disk never answers.
struct RankVoice::Impl {
  struct Text {
    std::string text;
    std::FILE* screen = nullptr;  // null: the log alone
  };

  // Of the context, which the thread may outlive.
  std::string folder;  // of the log; "": there is none
  int rank = 0;
  config::LogLevel level = config::LogLevel::info;
  std::FILE *screen_of_notices = nullptr, *screen_of_answers = nullptr;

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<Text> waiting;
  bool writing = false, started = false, ends = false;

  void write(const Text& text);
  static void run(const std::shared_ptr<Impl>& self);
  static void say(const std::shared_ptr<Impl>& self, Text text);
};

// A bar may stand on the line.
static void show(std::FILE* screen, const std::string& text) {
  const bool terminal = ::isatty(::fileno(screen)) == 1;
  const int width = terminal ? metrics::terminal_width(screen) - 1 : 0;
  std::fprintf(screen, "%s%-*s\n", terminal ? "\r" : "", width, text.c_str());
  std::fflush(screen);
}

void RankVoice::Impl::write(const Text& text) {
  if (text.screen != nullptr) show(text.screen, text.text);
  if (folder.empty()) return;
  try {
    metrics::RunLog(folder, rank, level).info(text.text);
  } catch (const base::Error&) {  // what is said matters more than a log that cannot be written
  }
}

void RankVoice::Impl::run(const std::shared_ptr<Impl>& self) {
  std::unique_lock<std::mutex> lock(self->mutex);
  for (;;) {
    self->changed.wait(lock, [&] { return self->ends || !self->waiting.empty(); });
    if (self->waiting.empty()) return;
    const Text next = std::move(self->waiting.front());
    self->waiting.pop_front();
    self->writing = true;
    lock.unlock();
    self->write(next);
    lock.lock();
    self->writing = false;
    self->changed.notify_all();
  }
}

// The thread begins with the first word: most ranks never say one.
void RankVoice::Impl::say(const std::shared_ptr<Impl>& self, Text text) {
  const std::lock_guard<std::mutex> lock(self->mutex);
  self->waiting.push_back(std::move(text));
  if (!self->started) std::thread([self] { run(self); }).detach();
  self->started = true;
  self->changed.notify_all();
}

RankVoice::RankVoice(const RankContext& context) : impl_(std::make_shared<Impl>()) {
  const config::Settings& s = context.resolved.settings;
  if (!s.train.out.empty()) impl_->folder = s.train.out + "/logs";
  impl_->rank = context.identity.world_rank;
  impl_->level = s.log.level;
  const bool launched = context.identity.source == rendezvous::Identity::Source::troika_launch;
  if (impl_->rank == 0) impl_->screen_of_notices = context.screen;
  if (impl_->rank == 0 || !launched) impl_->screen_of_answers = context.screen;
}

RankVoice::~RankVoice() {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->changed.wait_for(lock, last_wait, [&] { return impl_->waiting.empty() && !impl_->writing; });
  impl_->ends = true;
  impl_->changed.notify_all();
}

void RankVoice::log(const std::string& text) { Impl::say(impl_, {text, nullptr}); }

void RankVoice::notice(const std::string& text) { Impl::say(impl_, {text, impl_->screen_of_notices}); }

void RankVoice::answer(const std::string& text) { Impl::say(impl_, {text, impl_->screen_of_answers}); }

}  // namespace troika::train
