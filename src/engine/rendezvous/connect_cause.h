// Why connections are not made, over many tries. A firewall that rejects answers the first tries and, as systems limit how often
// they do, none of the later ones: these only run out of time.
#pragma once

#include <string>

#include "base/cause.h"

namespace troika::rendezvous {

class ConnectCause {
 public:
  // Of a try that had its time. The last that is more than a time-out stays.
  void hear(const std::string& text, base::Cause cause);
  const std::string& text() const { return text_; }  // "": none was heard
  base::Cause cause() const { return cause_; }

 private:
  std::string text_;
  base::Cause cause_{};
};

// What a connection that failed was told by ICMP (of version 4 or 6): firewall, nothing_at_address, or not_told.
base::Cause icmp_cause(int socket);
// Behind the system's word for an error, where an ICMP message has said more: "No route to host: a firewall forbids it".
std::string icmp_words(base::Cause cause);
// Why a connection failed with this errno, where ICMP has told nothing.
base::Cause cause_of_connecting(int code);
// Before and after connecting: whether the system keeps what ICMP tells. Of a connection that is made, what passes would end it.
void keep_icmp(int socket, int family);
void drop_icmp(int socket, int family);

}  // namespace troika::rendezvous
