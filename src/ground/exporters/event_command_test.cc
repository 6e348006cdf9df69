#include "exporters/event_command.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/temporary_folder_test_support.h"
#include "base/text.h"

namespace troika::exporters {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool await(const std::function<bool()>& ready) {
  const double until = base::monotonic_seconds() + 20;
  while (!ready()) {
    if (base::monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// A zombie has.
bool has_ended(int process) {
  try {
    return base::read_file("/proc/" + std::to_string(process) + "/stat").find(") Z ") != std::string::npos;
  } catch (const base::DataError&) {
    return true;
  }
}

std::string fresh_run(const std::string& name) {
  const std::string folder = base::temporary_folder() + "/" + name;
  base::make_directories(folder);
  return folder;
}

records::Event event_of(records::EventKind kind) {
  records::Event event;
  event.kind = kind;
  event.host = "pi";
  event.step = 41;
  event.text = "rank 1 said: \"no\"; $(touch it)";
  return event;
}

// Notes, from whatever thread.
class Notes {
 public:
  void add(const std::string& note) {
    const std::lock_guard<std::mutex> lock(mutex_);
    notes_.push_back(note);
  }
  std::vector<std::string> all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return notes_;
  }
  std::function<void(const base::Text&)> say() {
    return [this](const base::Text& note) { add(note.english); };
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

TEST(EventCommands, TellsTheCommandWhatHappened) {
  const std::string run = fresh_run("told");
  Notes notes;
  {
    EventCommands commands({"cat > $TROIKA_RUN/in; printf '%s|%s|%s|%s|%s' \"$TROIKA_EVENT\" \"$TROIKA_STEP\" "
                            "\"$TROIKA_TEXT\" \"$MINE\" \"$TROIKA_SECRET\" > $TROIKA_RUN/env; echo printed",
                            run,
                            {{"PATH", "/usr/bin:/bin"}, {"MINE", "yes"}, {"TROIKA_SECRET", "hidden"}}},
                           notes.say());
    commands.tell(event_of(records::EventKind::failure));
    commands.tell(event_of(records::EventKind::save));  // calls nothing
    ASSERT_TRUE(await([&] {
      return base::file_exists(run + "/logs/on-event.log") && base::file_size(run + "/logs/on-event.log") > 0;
    }));
  }
  EXPECT_EQ(base::read_file(run + "/env"), "failure|41|rank 1 said: \"no\"; $(touch it)|yes|");
  const auto event = records::parse_event(base::trim(base::read_file(run + "/in")));
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, records::EventKind::failure);
  EXPECT_EQ(event->step, 41);
  EXPECT_EQ(base::read_file(run + "/logs/on-event.log"), "printed\n");
  EXPECT_THAT(notes.all(), ElementsAre());
}

TEST(EventCommands, KindsThatCallTheCommandAreThoseOfALife) {
  using records::EventKind;
  for (const EventKind kind :
       {EventKind::start, EventKind::failure, EventKind::restart, EventKind::stop, EventKind::finish})
    EXPECT_TRUE(calls_command(kind));
  for (const EventKind kind : {EventKind::launch, EventKind::resume, EventKind::save, EventKind::notice,
                               EventKind::rank_ended, EventKind::rank_failed, EventKind::evaluation})
    EXPECT_FALSE(calls_command(kind));
}

TEST(EventCommands, ACommandThatFailsIsANote) {
  const std::string run = fresh_run("fails");
  Notes notes;
  EventCommands commands({"exit 3", run, {{"PATH", "/usr/bin:/bin"}}}, notes.say());
  commands.tell(event_of(records::EventKind::start));
  ASSERT_TRUE(await([&] { return !notes.all().empty(); }));
  EXPECT_THAT(notes.all().front(),
              AllOf(HasSubstr("at 'start' failed: it ended with exit code 3"), HasSubstr(run + "/logs/on-event.log")));
}

TEST(EventCommands, ACommandThatDoesNotEndIsEndedWithWhatItStarted) {
  const std::string run = fresh_run("endless");
  Notes notes;
  EventCommands commands({"sleep 100 & echo $! > $TROIKA_RUN/child; wait", run, {{"PATH", "/usr/bin:/bin"}}, 0.3},
                         notes.say());
  const double before = base::monotonic_seconds();
  commands.tell(event_of(records::EventKind::start));
  EXPECT_LT(base::monotonic_seconds() - before, 0.2);
  ASSERT_TRUE(await([&] { return !notes.all().empty(); }));
  EXPECT_THAT(notes.all().front(), HasSubstr("did not finish within 0.3 s and was killed"));
  const int child = std::stoi(base::read_file(run + "/child"));
  EXPECT_TRUE(await([&] { return has_ended(child); }));
}

TEST(EventCommands, ACommandThatDoesNotReadItsInputHoldsUpNobody) {
  const std::string run = fresh_run("deaf");
  Notes notes;
  {
    EventCommands commands({"echo x > $TROIKA_RUN/done", run, {{"PATH", "/usr/bin:/bin"}}}, notes.say());
    records::Event event = event_of(records::EventKind::finish);
    event.text = std::string(100000, 'x');  // more than a pipe holds, and less than a variable may
    commands.tell(event);
    ASSERT_TRUE(await([&] { return base::file_exists(run + "/done"); }));
  }
  EXPECT_THAT(notes.all(), ElementsAre());
}

TEST(EventCommands, WithoutACommandNothingHappens) {
  Notes notes;
  EventCommands commands({"", fresh_run("none")}, notes.say());
  commands.tell(event_of(records::EventKind::start));
  EXPECT_FALSE(base::directory_exists(base::temporary_folder() + "/none/logs"));
}

}  // namespace
}  // namespace troika::exporters
