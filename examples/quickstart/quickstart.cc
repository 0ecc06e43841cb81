// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "prefixroute/router.h"

int main() {
  auto router = prefixroute::Router::Create({}, {{"10.0.0.1:8000"}, {"10.0.0.2:8000"}, {"10.0.0.3:8000"}});
  if (!router.ok()) return 1;
  for (std::string_view prefix : {"You are a lawyer.", "You are a pilot.", "You are a lawyer."}) {
    prefixroute::Request request;
    request.prefix = prefix;
    auto lease = (*router)->Acquire(request);  // Reserves; gives back when destroyed.
    if (!lease.ok()) return 1;                 // Everybody is full (429), or nobody is there (503).
    std::cout << prefix << " -> " << lease->id() << "\n";
  }
}
