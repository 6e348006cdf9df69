// The user's own command at the events of a run (log.on_event).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/language.h"
#include "records/event.h"

namespace troika::exporters {

struct EventCommand {
  std::string command;  // for /bin/sh -c: the user's own words, with what a shell makes of them
  std::string run;      // the run's folder; the command's output goes to RUN/logs/on-event.log
  std::map<std::string, std::string> environment{};  // the command gets it without TROIKA_SECRET
  double limit_seconds = 60;                         // then it is ended, with what it has started
};

// Whether the command is run at an event of that kind: when a run starts, fails, is started again, stops or ends.
bool calls_command(records::EventKind kind);

// Each event starts the command beside the run: in a session of its own, with TROIKA_EVENT, TROIKA_RUN, TROIKA_STEP ("" where there is
// none) and TROIKA_TEXT in its environment and the event as one line of JSON on its standard input. Threads: tell() from any.
class EventCommands {
 public:
  // `tell` gets a note about a command that could not be started, did not end in time, or ended with another code than 0; from other
  // threads.
  EventCommands(EventCommand command, std::function<void(const base::Text&)> tell);
  ~EventCommands();  // gives commands that run 2 s to end; they run on then, within their limit
  EventCommands(const EventCommands&) = delete;
  EventCommands& operator=(const EventCommands&) = delete;

  // Nothing for kinds that call no command. Returns at once and never throws.
  void tell(const records::Event& event);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace troika::exporters
