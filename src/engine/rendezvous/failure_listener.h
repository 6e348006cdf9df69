// A launcher's line to the store, which never keeps it waiting: hears the failure report of an attempt, writes one, and what
// else the launcher has to tell.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rendezvous/failure_report.h"
#include "rendezvous/identity.h"

namespace troika::rendezvous {

class FailureListener {
 public:
  // Asks the store from a thread of its own. A connection that breaks is opened again; a store that has not answered for
  // `patience_seconds` is gone, and then heard() says so, or what tell() was given.
  FailureListener(const Identity& identity, double patience_seconds);
  ~FailureListener();
  FailureListener(const FailureListener&) = delete;
  FailureListener& operator=(const FailureListener&) = delete;

  // A report of this host about its rank `report.incident.who`: what that rank said of itself in the store counts more; a report
  // that is in the store already counts more than both.
  void tell(const FailureReport& report);

  // Writes to a key of the attempt when the store answers next. From any thread, without waiting.
  void write(const std::string& name, const std::string& value);

  // The report that counts. From any thread, without waiting.
  std::optional<FailureReport> heard() const;
  // Whether it was made because the store has ended or does not answer.
  bool store_is_lost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
