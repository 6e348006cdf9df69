// Why connections are not made, over many tries. A firewall that rejects answers the first tries and, as systems limit how often
// they do, none of the later ones: these only run out of time.
#pragma once

#include <string>

namespace troika::rendezvous {

class ConnectCause {
 public:
  // Of a try that had its time. The last that is more than a time-out stays.
  void hear(const std::string& cause);
  const std::string& text() const { return text_; }  // "": none was heard

 private:
  std::string text_;
};

// Behind the system's word for an error, where an ICMP message has said more: "No route to host: a firewall forbids it".
inline constexpr const char* forbidden_by_firewall = ": a firewall forbids it";
inline constexpr const char* nothing_at_address = ": nothing answers at that address";

// What a connection that failed was told by ICMP (of version 4 or 6): one of these, or "".
std::string icmp_word(int socket);
// Before and after connecting: whether the system keeps what ICMP tells. Of a connection that is made, what passes would end it.
void keep_icmp(int socket, int family);
void drop_icmp(int socket, int family);

}  // namespace troika::rendezvous
